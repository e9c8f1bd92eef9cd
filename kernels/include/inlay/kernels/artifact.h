/// What a kernel's build hands out: machine code with its proofs, and problems to try it on. Plain data: nothing here
/// launches anything; `inlay run`, the tests and the examples do.
#pragma once

#include <inlay/kernels/proof_report.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace inlay::kernels {

using Bytes = std::vector<std::byte>;

/// Milliseconds of wall time that each step of the build took.
struct BuildTimes {
  double layouts_and_proofs = 0;
  double ir = 0;
  double opt = 0;
  double codegen = 0;
  double link = 0;
  [[nodiscard]] double total() const { return layouts_and_proofs + ir + opt + codegen + link; }
};

/// One argument of a launch: the buffer of that index, or the bytes of a scalar.
struct LaunchArgument {
  int buffer = -1;
  Bytes scalar;
  static LaunchArgument of_buffer(int index) { return {index, {}}; }
  static LaunchArgument of_i32(std::int32_t value);
};

/// How to launch: workgroups, work-items, arguments in order.
struct LaunchPlan {
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{1, 1, 1};
  std::uint32_t dynamic_lds = 0;
  std::vector<LaunchArgument> arguments;
};

/// A number that follows from the sizes of a launch: `(m*k + n)*16`, with floor division. Stands alone: no program is needed.
class SizeFormula {
public:
  SizeFormula() = default;
  /// Errors: LayoutError for text that is no formula in these names.
  SizeFormula(const std::string& text, const std::vector<std::string>& names);
  [[nodiscard]] explicit operator bool() const { return parsed_ != nullptr; }
  [[nodiscard]] std::string text() const; ///< "" where there is none
  /// 2^63 - 1 where it is more than that.
  [[nodiscard]] std::int64_t operator()(const std::vector<std::int64_t>& values) const;

private:
  struct Parsed;
  std::shared_ptr<const Parsed> parsed_;
};

/// What a launch has to satisfy, and the launch for given sizes: derived from the program.
struct LaunchContract {
  struct Size {
    std::string name;
    std::int64_t least = 1, most = INT32_MAX, multiple = 1;
  };
  struct Axis {
    int axis = 0;
    int size = -1;           ///< number of the size whose tiles it counts, or -1
    std::int64_t extent = 1; ///< when it is no size
    int tile = 1;
    SizeFormula formula{}; ///< of the extent, where it is neither: `n/2`
  };
  struct Buffer {
    std::string name;
    bool output = false;
    SizeFormula bits;
    int device = -1; ///< of several, in whose memory it is; -1: each has its own
    /// Tables of problems (codegen::Problems): bits of what each entry points to, of the largest; or the size of which it holds values.
    SizeFormula points_to = {};
    int own = -1;
    [[nodiscard]] std::int64_t bytes(const std::vector<std::int64_t>& values) const; ///< at least 1
    /// It is known to have no element: nothing of it is touched.
    [[nodiscard]] bool empty(const std::vector<std::int64_t>& values) const;
  };
  std::string kernel;
  int threads = 256;
  /// So many launch it together (Program::devices), each with its number as the size `rank`.
  int devices = 1;
  std::size_t rank = 0;
  std::vector<Size> sizes;
  std::vector<Axis> grid;
  /// That many workgroups along x, and no others, share out the tiles of `grid` and of `summed` trip by trip (codegen::Shares); 0: none do.
  int workers = 0;
  Axis summed;
  std::vector<Buffer> buffers;
  /// In order (codegen::arguments_of): the buffer of that number, or the size.
  struct Argument {
    bool buffer = false;
    std::size_t number = 0;
  };
  std::vector<Argument> arguments;

  /// The launch for these sizes, in order; its grid is 0 x 0 x 0, and launching it does nothing, where a size of 0 leaves every output
  /// without elements. Errors: std::invalid_argument naming the size, its value and what would do.
  [[nodiscard]] LaunchPlan plan(const std::vector<std::int64_t>& values) const;
  /// The same launch on another of the devices.
  [[nodiscard]] LaunchPlan of_device(LaunchPlan plan, int number) const;
  /// Some size is 0, none below, and no output has an element.
  [[nodiscard]] bool nothing_to_write(const std::vector<std::int64_t>& values) const;
  /// Every buffer is somewhere, at a multiple of 4 (launch::refused_address), and every output lies apart from all others: what a kernel
  /// reads is what was there before it. Errors: std::invalid_argument naming the buffer, or both and where they lie.
  void check_addresses(const std::vector<std::uint64_t>& addresses,
                       const std::vector<std::int64_t>& values) const;
};

/// The program that a kernel was built from and its instructions (build.h): what machine code is held against.
struct Source;

/// A check of the program (Program::check) as a message has it: what failed, and the line that says so.
struct DeviceCheck {
  std::string text;
  std::string place; ///< `softmax.cpp:17`
};

/// A kernel as machine code, with what was proven about it.
struct Artifact {
  std::string kernel; ///< the name of the function in the code object
  std::string arch;
  Bytes hsaco;
  std::string ir;       ///< `.ll`, before optimisation
  std::string assembly; ///< `.s`, what `hsaco` was assembled from
  ProofReport proofs;
  std::string program;  ///< the specification, one operation a line
  std::string code;     ///< the instructions that were proven and emitted, one a line
  std::string schedule; ///< the loops as slots
  LaunchContract contract;
  std::vector<DeviceCheck> checks;
  BuildTimes times;
  bool turns = false;                   ///< workgroups wait for those before them
  bool from_cache = false;              ///< the machine code; claims are derived in every build
  std::shared_ptr<const Source> source; ///< when the build was given the program to keep
};

/// How far a result is from the reference.
struct Check {
  bool ok = false;
  double max_abs_error = 0;
  double max_rel_error = 0;
  double worst_of_bound = 0; ///< the largest error divided by its bound; ok means at most 1
  std::string bound;         ///< the bound as a formula
  std::string message;       ///< the first element that is wrong, or empty
};

/// A problem for a kernel: buffers, a launch, and a judge.
struct Problem {
  struct Buffer {
    std::string name;
    Bytes data;  ///< what the device buffer holds at the start
    bool output; ///< whether `check` wants it back
    /// Of a table of pointers: the buffers that its entries point to, 8 bytes each; -1: nothing.
    std::vector<int> points_to = {};
  };
  std::vector<Buffer> buffers; ///< the kernel's arguments, then what tables of pointers point to
  LaunchPlan launch;
  double flops = 0;
  std::string text; ///< `C[256,256] = A[256,256] x B[256,256]^T, f16`
  /// Judges the contents of the buffers after the launch, in order; those that are no output may be empty.
  std::function<Check(std::span<const Bytes> buffers)> check;
};

/// A problem of these sizes without a judge, whose buffers are zeros: each of many problems is the largest, at least 16 bytes a buffer.
[[nodiscard]] Problem zeros(const LaunchContract& contract, const std::vector<std::int64_t>& sizes);

/// Options that every kernel's build takes.
struct BuildOptions {
  /// Who orders the loops: `modulo` or `default` (codegen/schedule.h).
  std::string scheduler = "modulo";
  /// How loops in a final order are written: `ir`, as one block of `asm`, or `auto`, which chooses by the registers,
  /// and by what LLVM's allocator made of the loop.
  std::string loops = "auto";
  bool validate =
      false; ///< also hold the machine code against the code: std::runtime_error when it is not validated
};

/// Named text options of a kernel, as given on the command line: `{"m": "256", "dtype": "f16"}`.
using Flags = std::map<std::string, std::string>;

/// An option as its row says it (kernels/options.h).
struct FlagHelp {
  std::string name, fallback, help; ///< help: a line
  std::string range;                ///< what it may be
  std::string more;                 ///< what the line leaves out
  bool speed = false;               ///< it changes only how long the kernel takes, and `auto` chooses it
  std::string unchosen;             ///< then: its value where sizes are not known
  std::string former = {};          ///< a name that it had before, and still answers to
};

/// Values of all options of a kernel that change only speed, and clocks of a launch by its bounds: what ranks it among others.
struct Form {
  Flags options;
  double clocks = 0;
};

/// A prebuilt kernel behind its command-line face. The typed face is the kernel's own header.
class Kernel {
public:
  virtual ~Kernel() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::string summary() const = 0;
  [[nodiscard]] virtual std::vector<FlagHelp> flags() const = 0;
  /// The same flags by the names that options have now; others stay as they are.
  /// Errors: std::invalid_argument for an option that is given by both names with two values.
  [[nodiscard]] virtual Flags renamed(const Flags& flags) const { return flags; }
  /// Errors: std::invalid_argument naming the flag that is unknown, malformed or unsupported.
  [[nodiscard]] virtual Artifact build(const Flags& flags, const BuildOptions& options) const = 0;
  /// A problem of the size that the flags ask for, with seeded random data and its reference.
  [[nodiscard]] virtual Problem problem(const Flags& flags, std::uint64_t seed) const = 0;
  /// Forms for a problem of these flags, the shortest first; options that the flags give (not as `auto`) are as given. Nothing:
  /// the kernel has one form, or none that fits.
  [[nodiscard]] virtual std::vector<Form> forms(const Flags&) const { return {}; }
  /// The sizes of the launch contract for these flags, in order; nothing where only `problem` knows.
  [[nodiscard]] virtual std::vector<std::int64_t> sizes(const Flags&) const { return {}; }
  /// The options that say all of them (several may say one, as a padding does): auto chooses where these are given.
  [[nodiscard]] virtual std::vector<std::string> size_names() const { return {}; }
};

/// All prebuilt kernels, by name.
[[nodiscard]] std::vector<std::unique_ptr<Kernel>> registry();
/// The one of that name. Errors: std::invalid_argument naming those there are.
[[nodiscard]] std::unique_ptr<Kernel> find_kernel(const std::string& name);

} // namespace inlay::kernels
