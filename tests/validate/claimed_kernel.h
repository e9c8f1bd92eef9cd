/// Kernels of assembly with named arguments, for claims about them.
#pragma once

#include "emulator_support.h"

namespace claimed {

/// `f` on gfx942, arguments in (8), out (8), n (4), k (4) at s[0:1]; s2 is the workgroup.
inline std::vector<std::uint8_t> kernel(const std::string& body, unsigned lds = 0) {
  const std::string bytes = std::to_string(lds);
  return inlay::runtime::isa::assemble_code_object(
      ".text\n.globl f\n.p2align 8\n.type f,@function\nf:\n" + body +
          "s_endpgm\n.Lend:\n.size f, .Lend-f\n.rodata\n.p2align 6\n.amdhsa_kernel "
          "f\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n.amdhsa_group_segment_fixed_size " +
          bytes +
          "\n.amdhsa_kernarg_size 24\n.amdhsa_next_free_vgpr 32\n.amdhsa_accum_offset "
          "32\n.amdhsa_next_free_sgpr "
          "64\n.end_amdhsa_kernel\n"
          ".amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.kernels:\n  - .name: f\n    .symbol: f.kd\n"
          "    .kernarg_segment_size: 24\n    .group_segment_fixed_size: " +
          bytes +
          "\n    .private_segment_fixed_size: 0\n"
          "    .kernarg_segment_align: 8\n    .wavefront_size: 64\n    .sgpr_count: 64\n    .vgpr_count: 32\n"
          "    .max_flat_workgroup_size: 256\n    .args:\n"
          "      - {.name: in, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}\n"
          "      - {.name: out, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}\n"
          "      - {.name: n, .offset: 16, .size: 4, .value_kind: by_value}\n"
          "      - {.name: k, .offset: 20, .size: 4, .value_kind: by_value}\n...\n.end_amdgpu_metadata\n",
      inlay::runtime::isa::Arch::gfx942);
}
/// What loads them to s[4:9], and v1 = 4 (128 workgroup + work-item).
inline const std::string load_arguments =
    "s_load_dwordx4 s[4:7], s[0:1], 0x0\ns_load_dwordx2 s[8:9], s[0:1], 0x10\ns_waitcnt lgkmcnt(0)\n";
inline const std::string element =
    load_arguments + "s_lshl_b32 s10, s2, 7\nv_add_u32_e32 v1, s10, v0\nv_lshlrev_b32_e32 v1, 2, v1\n";

} // namespace claimed
