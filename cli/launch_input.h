/// What `exec` and `time` launch: a code object or a launch manifest, the kernel, its geometry and arguments, each checked, and said
/// where the command line does not.
#pragma once

#include "command.h"
#include "exec_arguments.h"

#include <inlay/launch/manifest.h>
#include <inlay/runtime/code_object.h>
#include <inlay/runtime/isa/program.h>

namespace inlay::cli {

struct LaunchOptions {
  std::string file, kernel, arch, grid, block;
  std::vector<std::string> arguments, sizes;
  std::optional<unsigned> lds;
  unsigned rank = 0; ///< of the device that is launched, of several
  bool why = false;  ///< say which form is launched, of several, and why
};
/// FILE, --kernel, --grid, --block, --arg, --size, --lds, --arch, --why.
void add_launch_options(CLI::App& command, LaunchOptions& o);

struct LaunchInput {
  runtime::CodeObject object;
  std::string name;
  runtime::isa::Arch arch{};
  runtime::LaunchGeometry geometry;
  std::vector<ArgumentSpec> specs;
  unsigned devices = 1; ///< that a manifest says launch it together
  /// Then: what of each device the others get the address of, by name, where the command line does not say what it holds.
  std::vector<ArgumentSpec> buffers;
  /// What was not given, and where it comes from: `block 256x1x1 by the code object (max_flat_workgroup_size)`. Empty: all was.
  std::vector<std::string> said;

  [[nodiscard]] const runtime::Kernel& kernel() const { return object.kernel(name); }
  /// `said` as one line that ends a report; empty when there is nothing to say.
  [[nodiscard]] std::string said_text() const;
};

/// Refuses a file of NumPy whose elements are not those of the manifest: floats of another width, or numbers in the place of floats. Unsigned
/// numbers and raw bytes (`<u2`, `|V2`) are how people keep what NumPy has no type for. Also one of as many dimensions as the manifest says, two
/// or more, and of other extents: a transposed one has as many bytes; but rows may be counted by other dimensions. `text`: the option as given.
void refuse_other_array(const ArgumentSpec& known, const ArgumentSpec& given, const std::string& text);

/// Errors: ArgumentError for a geometry that neither says, CodeObjectError, LaunchError, std::runtime_error.
[[nodiscard]] LaunchInput read_launch(Session& session, const LaunchOptions& o);

/// The block that the code object asks for; said how. Errors: ArgumentError with a hint when it does not say.
struct Block {
  runtime::Extent3 extent;
  std::string from;
};
[[nodiscard]] Block block_of(const runtime::Kernel& kernel);

/// Whether the kernel's own code touches LDS.
[[nodiscard]] bool uses_lds(const runtime::CodeObject& object, const runtime::Kernel& kernel);

} // namespace inlay::cli
