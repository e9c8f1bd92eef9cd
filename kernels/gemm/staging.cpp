// How a GEMM's tiles come to the registers that multiply them.
#include "staging.h"

namespace inlay::kernels::gemm {

Operand::Operand(Program& k, const GemmSpec& s, const std::string& lds, int rows, bool staged, bool turned,
                 const Layout& tv)
    : k_(k), rows_(rows), vector_(vector_of(s.in)),
      tv_(tv), staged_{.type = s.in,
                       .depth = s.tile_k,
                       .vector = !s.transfer       ? copied(s, k.target(), rows)
                                 : bits(s.in) == 6 ? vector_ / 2
                                                   : vector_,
                       .threads = 64 * s.waves_m * s.waves_n,
                       .transfer = s.transfer,
                       .whole_lines = whole_lines(s, k.target()),
                       .read_vector = vector_} {
  if (turned) turned_ = turned_tile(s, k.target(), rows, tv);
  if (turned)
    lds_ = k.lds(lds, s.in, {rows, s.tile_k}, turned_->swizzle);
  else if (staged)
    lds_ = staged_.tile(k, lds, rows, tv);
}

void Operand::copy(const View& from, Where where) const {
  if (!lds_) return;
  if (!turned_) return staged_.copy(k_, from, *lds_, rows_, where);
  const Fragment loaded = k_.load(from, codegen::transposed(turned_->loaded), turned_->vector, where);
  k_.store(k_.map(
               codegen::transposed(turned_->written), {loaded}, [](const Exprs& x) { return x[0]; },
               staged_.type, where),
           k_.whole(*lds_), turned_->piece, where);
}

Fragment Operand::load(const View& from, Where where) const {
  return lds_ ? k_.read(*lds_, tv_, vector_, where) : k_.load(from, tv_, vector_, where);
}

OperandScales::OperandScales(Program& k, const GemmSpec& s, const std::string& lds, int rows, int waves,
                             int sharing, const Layout& tv)
    : k_(k), rows_(rows), columns_(s.tile_k / 32), waves_(waves), threads_(64 * s.waves_m * s.waves_n),
      tv_(tv) {
  if (s.staged_scales(rows, sharing))
    lds_ = k.lds(lds, Element::e8m0, {rows, columns_}, codegen::scales_place(rows, columns_, waves));
}

void OperandScales::copy(const View& from, Where where) const {
  if (lds_)
    k_.transfer(from, *lds_, codegen::scales_transfer_tv(rows_, columns_, waves_, threads_), 4, where);
}

Fragment OperandScales::load(const View& from, Where where) const {
  return lds_ ? k_.read(*lds_, tv_, 4, where) : k_.load(from, tv_, 4, where);
}

} // namespace inlay::kernels::gemm
