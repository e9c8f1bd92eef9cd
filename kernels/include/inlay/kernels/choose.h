/// `choose`: values for the options that change only speed, for given sizes. What `auto` means.
///
///     const auto kernel = find_kernel("gemm");
///     Flags asked = {{"arch", "MI355X"}, {"dtype", "bf16"}, {"m", "4096"}, {"n", "4096"}, {"k", "4096"}};
///     Choice c = choose(*kernel, asked);
///     c.why                                  // auto: --tile 256x256x64 --waves 2x4 ..: 138,123 modelled clocks, ..
///     Artifact a = kernel->build(with(asked, c));
///
/// All forms of the kernel are ranked by bounds; the first ones, and the form that the shipped table has for the nearest shape,
/// are built and their launch is modelled; the one of fewest clocks is chosen, the first in the ranking among equals. That is a
/// function of the flags and of the library, never of the machine or of time. What was chosen is kept in memory, and in a
/// directory under the build of the library, the kernel, its options and sizes: INLAY_CACHE_DIR, or `inlay` in XDG_CACHE_HOME or
/// ~/.cache; INLAY_CACHE_DIR that is empty: none.
#pragma once

#include <inlay/kernels/artifact.h>
#include <inlay/kernels/model.h>

#include <memory>
#include <optional>

namespace inlay::kernels {

struct Ranked {
  Form form;
  std::optional<Modelled> modelled;
  std::string refused; ///< why it cannot be built
};

struct Choice {
  enum class From : std::uint8_t { nothing, memory, disk, model };
  Flags options;     ///< empty where there is nothing to choose
  double clocks = 0; ///< 0 where one form is all there is: it is not modelled
  std::size_t considered = 0, modelled = 0;
  std::string table; ///< what the table has for the nearest shape, and what it would cost here; or nothing
  std::string why;   ///< a line; where there is nothing to choose it says why
  std::vector<Ranked>
      ranking; ///< modelled ones first, by clocks, then the others by bounds; empty from the cache
  From from = From::nothing;
  /// The chosen form with its claims, where choosing has built it; nothing from the cache.
  std::shared_ptr<const Artifact> built = {};
};

struct ChooseOptions {
  std::size_t in_full = 4;  ///< of the ranking, modelled
  std::size_t as_close = 2; ///< and so many more, where their bound is at most 1.1 times the first one's
  std::size_t few = 12;     ///< forms, or fewer, are all modelled: those of rows take a tenth of a second
  unsigned processes = 1;   ///< that model side by side
  bool cache = true;
  BuildOptions build;
};

/// Errors: std::invalid_argument for flags that the kernel refuses.
[[nodiscard]] Choice choose(const Kernel& kernel, const Flags& asked, const ChooseOptions& options = {});

/// What is asked, with what was chosen in the place of `auto`.
[[nodiscard]] Flags with(Flags asked, const Choice& choice);

/// The kernel of `with(asked, choice)`, which is not built again where choosing has built it in the same way.
[[nodiscard]] Artifact build(const Kernel& kernel, const Flags& asked, const Choice& choice,
                             const BuildOptions& options);

/// Puts a choice that was found elsewhere (by tuning) where `choose` finds it.
void remember(const Kernel& kernel, const Flags& asked, const Choice& choice,
              const ChooseOptions& options = {});

/// Empties the memory; the directory stays.
void forget();

/// Builds and models some forms of a kernel; `on_each` hears of each as it is done, and says whether to go on.
void model_forms(const Kernel& kernel, const Flags& asked, std::vector<Ranked>& forms,
                 const ChooseOptions& options, const std::function<bool(std::size_t)>& on_each = {});

/// `--tile 128x128x64 --waves 2x2`.
[[nodiscard]] std::string words(const Flags& flags);
/// The same of options that are not what stands where nobody chooses, in the kernel's order.
[[nodiscard]] std::string words_that_tell(const Kernel& kernel, const Flags& options);

/// A row of the shipped table: the best form that was found for a shape.
struct TableRow {
  std::string kernel, arch, dtype;
  std::vector<std::int64_t> sizes;
  double clocks = 0;
  Flags options;
};
[[nodiscard]] const std::vector<TableRow>& shipped_table();
/// The row of the same kernel, processor and type whose sizes are nearest, by their ratios.
[[nodiscard]] const TableRow* nearest(const std::string& kernel, const std::string& arch,
                                      const std::string& dtype, const std::vector<std::int64_t>& sizes);

} // namespace inlay::kernels
