// Propagation of undefined bits by observation: see definedness.h.
#include "definedness.h"

#include "engine.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

namespace inlay::runtime::emulator {

Definedness::Definedness(u64 lanes_that_exist) : bits(new u32[rows * lanes]) {
  lanes_of.fill(lanes_that_exist);
  std::memset(bits.get(), 0xff, sizeof(u32) * rows * lanes);
}

u32 new_origin(Wave& w, const std::string& name) {
  Launch& launch = *w.group->launch;
  const std::lock_guard lock(launch.mutex);
  const auto [at, fresh] = launch.origin_ids.try_emplace({w.current, name}, 0);
  if (fresh) {
    const isa::Instruction& i = *launch.code->operations[w.current].instruction;
    char address[24];
    std::snprintf(address, sizeof address, "0x%llx", static_cast<unsigned long long>(i.address));
    launch.origins.push_back(name + ", read by " + address + " '" + i.text + "'");
    at->second = static_cast<u32>(launch.origins.size());
  }
  return at->second;
}

u32 origin_of_row(Wave& w, unsigned row) {
  u32& origin = w.defined->origin[row];
  if (origin == 0) origin = new_origin(w, row_name(w, row) + ", which nothing has written");
  return origin;
}

namespace {

u32 origin_of_scalar(Wave& w, unsigned index) {
  u32& origin = w.defined->scalar_origin[index];
  if (origin == 0) origin = new_origin(w, scalar_name(index) + ", which nothing has written");
  return origin;
}

} // namespace

void report_undefined(Wave& w, const std::string& name, u32 undefined, u32 origin, const char* what,
                      unsigned lane, bool note) {
  Launch& launch = *w.group->launch;
  std::string from;
  {
    const std::lock_guard lock(launch.mutex);
    const u32 id = origin & ~copied;
    if (id != 0 && id <= launch.origins.size()) from = launch.origins[id - 1];
  }
  char bits[40] = "is undefined";
  if (undefined != ~0U) std::snprintf(bits, sizeof bits, "has undefined bits 0x%x", undefined);
  report(w, FindingKind::uninit,
         name + " " + bits + " and " + what + (from.empty() ? "" : "\n  from   " + from), lane, 0, note);
}

bool demand_row(Wave& w, unsigned row, u64 mask, const char* what, u32 relevant) {
  Definedness& d = *w.defined;
  for (u64 m = d.lanes_of[row] & mask; m != 0; m &= m - 1) {
    const unsigned l = first_lane(m);
    const u32 undefined = d.bits[row * lanes + l] & relevant;
    if (undefined == 0) continue;
    report_undefined(w, row_name(w, row), undefined, origin_of_row(w, row), what, l);
    d.lanes_of[row] &= ~mask; // once said, it would be said again of everything that follows
    return true;
  }
  return false;
}

bool demand_scalar(Wave& w, unsigned index, const char* what) {
  Definedness& d = *w.defined;
  if (((d.scalars[index / 64] >> (index % 64)) & 1U) == 0) return false;
  report_undefined(w, scalar_name(index), d.scalar_bits[index], origin_of_scalar(w, index), what,
                   first_lane(w.exec()));
  d.set_scalar(index, 0, 0);
  return true;
}

namespace {

u64 next_random(Definedness& d) {
  d.random ^= d.random << 13;
  d.random ^= d.random >> 7;
  d.random ^= d.random << 17;
  return d.random;
}

/// The registers that an execution of `op` reads and writes, with their contents, so that it can be repeated.
class Experiment {
public:
  Experiment(Wave& wave, const Operation& operation) : w_(wave), op_(operation), d_(*wave.defined) {
    each_read(w_, op_, [&](const RowRange& r) { add(r, true); });
    each_write(w_, op_, [&](const RowRange& r) {
      add(r, false);
      for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k) written_.push_back(slot(k));
    });
    values_.resize(rows_.size() * lanes);
    for (std::size_t i = 0; i < rows_.size(); ++i)
      std::memcpy(&values_[i * lanes], w_.row(rows_[i].row), lanes * sizeof(u32));
    scalars_ = w_.scalar;
    scc_ = w_.scc;
    at_ = w_.at;
    mode_ = w_.mode;
    first_.resize(written_.size() * lanes);
    difference_.assign(written_.size() * lanes, 0);
  }

  void run() {
    op_.execute(w_, op_); // with the values that there are
    observe(true);
    // A bit that some filling changes is undefined, one that none of them changes counts as defined. Each random filling comes with
    // its complement, and the other operand with what makes a sum or a difference all zeros and all ones: so that of the sum of an
    // undefined word and a defined one no bit is left to chance.
    constexpr Fill fills[] = {Fill::zeros, Fill::ones,   Fill::random,    Fill::complement, Fill::other,
                              Fill::above, Fill::below,  Fill::inverse,   Fill::negative,   Fill::most,
                              Fill::least, Fill::random, Fill::complement};
    const std::size_t count = op_.moves_bits ? 2 : op_.cls == Class::matrix ? 3 : std::size(fills);
    for (std::size_t n = 0; n < count; ++n) {
      fill(fills[n]);
      op_.execute(w_, op_);
      observe(false);
    }
    restore();
  }

  /// Gives the results their undefined bits.
  void conclude() {
    u32 origin = 0;
    for (const Row& r : rows_) {
      if (origin == 0 && d_.lanes_of[r.row] != 0 && r.read) origin = origin_of_row(w_, r.row);
    }
    for (unsigned half = 0; half < 2 && origin == 0; ++half) {
      const u64 read = op_.scalar_reads[half] & d_.scalars[half];
      if (read != 0) origin = origin_of_scalar(w_, half * 64 + first_lane(read));
    }
    if (origin == 0 && d_.scc) origin = d_.scc_origin;
    for (const Row& r : rows_) {
      if (origin == 0 && d_.lanes_of[r.row] != 0) origin = origin_of_row(w_, r.row);
    }
    const std::string_view name = op_.instruction->mnemonic;
    if (!op_.moves_bits && !name.starts_with("v_cndmask_b32") && !name.starts_with("s_cselect"))
      origin &= ~copied;
    for (std::size_t i = 0; i < written_.size(); ++i) {
      const unsigned row = rows_[written_[i]].row;
      u64 undefined = 0;
      for (unsigned l = 0; l < lanes; ++l) {
        u32 bits = difference_[i * lanes + l];
        if (bits == 0) continue;
        if (bits == d_.row_bits(row, l)) {
          // As before: a lane that was not written keeps its undefined bits, no more.
        } else if (op_.widens == 32) {
          bits = ~0U;
        } else if (op_.widens == 16) {
          bits |= ((bits & 0xffffU) != 0 ? 0xffffU : 0U) | ((bits >> 16) != 0 ? 0xffff0000U : 0U);
        }
        undefined |= lane_bit(l);
        d_.bits[row * lanes + l] = bits;
      }
      d_.lanes_of[row] = undefined;
      if (undefined != 0) d_.origin[row] = origin;
    }
    for (unsigned half = 0; half < 2; ++half) {
      for (u64 set = op_.scalar_writes[half]; set != 0; set &= set - 1) {
        const unsigned r = half * 64 + first_lane(set);
        d_.set_scalar(r, scalar_difference_[r], scalar_difference_[r] != 0 ? origin : 0);
      }
    }
    d_.scc = scc_differs_;
    if (scc_differs_) d_.scc_origin = origin;
    for (const unsigned r : {unsigned{exec_lo}, exec_lo + 1U}) demand_scalar(w_, r, "decides EXEC");
  }

private:
  struct Row {
    unsigned row;
    bool read; ///< or only written
  };

  void add(const RowRange& r, bool read) {
    for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k) {
      if (slot(k) == rows_.size()) rows_.push_back({k, read});
    }
  }
  [[nodiscard]] std::size_t slot(unsigned row) const {
    return static_cast<std::size_t>(
        std::find_if(rows_.begin(), rows_.end(), [&](const Row& r) { return r.row == row; }) - rows_.begin());
  }

  /// What the operand beside that of `row` holds, for comparisons that only equal values decide.
  [[nodiscard]] u32 other_row(unsigned row, unsigned lane) {
    for (std::size_t i = 0; i < op_.sources.size(); ++i) {
      const Source& s = op_.sources[i];
      if (s.kind == Source::Kind::row && row >= s.index && row < s.index + words(s.type))
        return beside(i, row - s.index, lane);
    }
    return static_cast<u32>(next_random(d_));
  }
  enum class Fill : u8 {
    zeros,
    ones,
    random,
    complement,
    other,
    above,
    below,
    inverse,
    negative,
    most,
    least
  };
  /// `other`: what the operand beside holds.
  template <class F>
  u32 filling(Fill fill, F other) {
    switch (fill) {
    case Fill::zeros: return 0;
    case Fill::ones: return ~0U;
    case Fill::random: return static_cast<u32>(next_random(d_));
    case Fill::complement: return ~static_cast<u32>(next_random(d_));
    case Fill::other: return other();
    case Fill::above: return other() + 1;
    case Fill::below: return other() - 1;
    case Fill::inverse: return ~other();
    case Fill::negative: return 0 - other();
    case Fill::most: return 0x7fffffffU;
    case Fill::least: return 0x80000000U;
    }
    return 0;
  }

  [[nodiscard]] u32 beside(std::size_t source, unsigned word, unsigned lane) {
    if (op_.sources.size() >= 2) {
      const Source& s = op_.sources[(source + 1) % op_.sources.size()];
      word = std::min(word, words(s.type) - 1);
      switch (s.kind) {
      case Source::Kind::row:
        if (const std::size_t at = slot(s.index + word); at < rows_.size()) return values_[at * lanes + lane];
        break;
      case Source::Kind::scalar: return scalars_[s.index + word];
      case Source::Kind::constant: return s.constant[lane + word * lanes];
      default: break;
      }
    }
    return static_cast<u32>(next_random(d_));
  }
  [[nodiscard]] u32 other_scalar(unsigned index) {
    const auto& operands = op_.instruction->operands;
    if (op_.vector != nullptr) { // a scalar beside a row or another scalar
      for (std::size_t i = 0; i < op_.sources.size(); ++i) {
        const Source& s = op_.sources[i];
        if (s.kind == Source::Kind::scalar && index >= s.index && index < s.index + words(s.type))
          return beside(i, index - s.index, first_lane(w_.exec()));
      }
    }
    for (const isa::Operand& o : operands) {
      if (&o == &operands.front() && op_.instruction->format != isa::Format::sopc &&
          op_.instruction->format != isa::Format::sopk)
        continue;
      const bool itself =
          o.kind == isa::OperandKind::sgpr && index >= o.index && index < o.index + unsigned{o.width};
      if (itself) continue;
      for (const isa::Operand& mine : operands) {
        if (mine.kind != isa::OperandKind::sgpr || index < mine.index ||
            index >= mine.index + unsigned{mine.width})
          continue;
        if (o.kind == isa::OperandKind::sgpr)
          return scalars_[std::min<std::size_t>(o.index + (index - mine.index), 131)];
        return static_cast<u32>((mine.width == 2 ? read_scalar64(w_, o) : read_scalar(w_, o)) >>
                                (32 * (index - mine.index)));
      }
    }
    return static_cast<u32>(next_random(d_));
  }

  void fill(Fill with) {
    if (with == Fill::random) random_ = d_.random;
    if (with == Fill::complement) d_.random = random_; // of the same
    w_.scalar = scalars_;
    w_.scc = scc_;
    w_.at = at_;
    w_.mode = mode_;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Row& r = rows_[i];
      u32* to = w_.row(r.row);
      std::memcpy(to, &values_[i * lanes], lanes * sizeof(u32));
      for (u64 m = d_.lanes_of[r.row]; m != 0; m &= m - 1) {
        const unsigned l = first_lane(m);
        const u32 undefined = d_.bits[r.row * lanes + l];
        const u32 value = filling(with, [&] { return other_row(r.row, l); });
        to[l] = (to[l] & ~undefined) | (value & undefined);
      }
    }
    for (unsigned half = 0; half < 2; ++half) {
      for (u64 set = d_.scalars[half] & (op_.scalar_reads[half] | op_.scalar_writes[half]); set != 0;
           set &= set - 1) {
        const unsigned r = half * 64 + first_lane(set);
        const u32 value = filling(with, [&] { return other_scalar(r); });
        w_.scalar[r] = (w_.scalar[r] & ~d_.scalar_bits[r]) | (value & d_.scalar_bits[r]);
      }
    }
    if (d_.scc) w_.scc = (filling(with, [&] { return static_cast<u32>(next_random(d_)); }) & 1U) != 0;
  }

  void observe(bool first) {
    for (std::size_t i = 0; i < written_.size(); ++i) {
      const u32* now = w_.row(rows_[written_[i]].row);
      if (first) {
        std::memcpy(&first_[i * lanes], now, lanes * sizeof(u32));
      } else {
        for (unsigned l = 0; l < lanes; ++l) difference_[i * lanes + l] |= first_[i * lanes + l] ^ now[l];
      }
    }
    if (first) {
      first_scalars_ = w_.scalar;
      first_scc_ = w_.scc;
      return;
    }
    for (unsigned half = 0; half < 2; ++half) {
      for (u64 set = op_.scalar_writes[half]; set != 0; set &= set - 1) {
        const unsigned r = half * 64 + first_lane(set);
        scalar_difference_[r] |= first_scalars_[r] ^ w_.scalar[r];
      }
    }
    scc_differs_ = scc_differs_ || first_scc_ != w_.scc;
  }

  void restore() {
    for (std::size_t i = 0; i < rows_.size(); ++i)
      std::memcpy(w_.row(rows_[i].row), &values_[i * lanes], lanes * sizeof(u32));
    w_.scalar = scalars_;
    w_.scc = scc_;
    w_.at = at_;
    w_.mode = mode_;
  }

  Wave& w_;
  const Operation& op_;
  Definedness& d_;
  std::vector<Row> rows_;
  std::vector<std::size_t> written_; ///< indices into rows_
  std::vector<u32> values_, first_, difference_;
  std::array<u32, 132> scalars_{}, first_scalars_{}, scalar_difference_{};
  bool scc_ = false, first_scc_ = false, scc_differs_ = false;
  u32 at_ = 0, mode_ = 0;
  u64 random_ = 0; ///< where the last random filling began
};

/// Branches: whether the undefined bits can change where execution goes on.
void check_branch(Wave& w, const Operation& op) {
  Definedness& d = *w.defined;
  constexpr const char* what = "decides a branch";
  switch (op.decision) {
  case Decision::scc:
    if (d.scc) {
      report_undefined(w, "scc", ~0U, d.scc_origin, what, first_lane(w.exec()));
      d.scc = false;
    }
    return;
  case Decision::vcc: {
    const u64 undefined = d.scalar_bits[vcc_lo] | (u64{d.scalar_bits[vcc_lo + 1]} << 32);
    if ((w.scalar64(vcc_lo) & ~undefined) != 0) return; // a bit that is set is enough
    demand_scalar(w, vcc_lo, what);
    demand_scalar(w, vcc_lo + 1, what);
    return;
  }
  default:
    for (unsigned half = 0; half < 2; ++half) {
      for (u64 set = op.scalar_reads[half] & d.scalars[half]; set != 0; set &= set - 1)
        demand_scalar(w, half * 64 + first_lane(set), op.decision == Decision::mode ? "decides MODE" : what);
    }
  }
}

} // namespace

void track_definedness(Wave& w, const Operation& op) {
  Definedness& d = *w.defined;
  const u64 scalars = (d.scalars[0] & op.scalar_reads[0]) | (d.scalars[1] & op.scalar_reads[1]);
  switch (op.cls) {
  case Class::scalar:
  case Class::branch:
    if (op.decision != Decision::none) {
      if (scalars != 0 || d.scc) check_branch(w, op);
    } else if (scalars != 0 || d.scc) {
      Experiment e(w, op);
      e.run();
      e.conclude();
      return;
    }
    break;
  case Class::scalar_memory:
    for (unsigned half = 0; half < 2; ++half) {
      for (u64 set = op.scalar_reads[half] & d.scalars[half]; set != 0; set &= set - 1)
        demand_scalar(w, half * 64 + first_lane(set), "is an address, or stored");
    }
    break; // what is loaded is the instruction's own
  case Class::vector:
  case Class::matrix: {
    u64 undefined = 0;
    u64 active = w.exec();
    if (op.reads_lanes == LaneReads::all) {
      active = ~u64{0};
    } else if (op.reads_lanes == LaneReads::first) {
      active = active == 0 ? 1 : active & (~active + 1);
    } else if (op.reads_lanes == LaneReads::one) {
      const Source& s = op.sources[1];
      active = s.kind == Source::Kind::constant ? lane_bit(s.constant[0] & 63)
               : s.kind == Source::Kind::scalar ? lane_bit(w.scalar[s.index] & 63)
                                                : ~u64{0};
    }
    each_read(w, op, [&](const RowRange& r) {
      for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k) undefined |= d.lanes_of[k] & active;
    });
    if (op.keeps_part) {
      each_write(w, op, [&](const RowRange& r) {
        for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k) undefined |= d.lanes_of[k];
      });
    }
    if (undefined != 0 || scalars != 0) {
      if (w.gpr_idx_mode != 0) demand_scalar(w, m0, "chooses a register");
      Experiment e(w, op);
      e.run();
      e.conclude();
      return;
    }
    if (op.keeps_part) break; // defined before, defined after
    const u64 written = op.whole_wave ? ~u64{0} : w.exec();
    each_write(w, op, [&](const RowRange& r) {
      for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k) d.lanes_of[k] &= ~written;
    });
    break;
  }
  default: return; // LDS, memory, waits
  }
  d.scalars[0] &= ~op.scalar_writes[0];
  d.scalars[1] &= ~op.scalar_writes[1];
}

} // namespace inlay::runtime::emulator
