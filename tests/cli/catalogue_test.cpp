// The kernels of the catalogue as a table: each with its options and sizes, on the emulator with every sanitizer, against its reference;
// and every judge sees an element of every output that is off.
#include "strict_launch.h"

#include <inlay/kernels/groups.h>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <set>
#include <sstream>

namespace catalogue_test {

using namespace inlay;
using namespace inlay::kernels;
using Catch::Matchers::Contains;

namespace {

struct Row {
  std::string kernel, options;    ///< of the form
  std::vector<std::string> sizes; ///< of one launch each
};

// One, odd, and what ends inside of tiles and vectors.
const std::vector<Row> table = {
    {"map", "--expr|y = silu(a) * b + c", {"--n 8", "--n 10000"}},
    {"map", "--dtype f32 --expr|y = x >= 0 ? x : 0.1 * x", {"--n 1", "--n 12345"}},
    {"map", "--dtype bf16 --vector 1 --expr|y = gelu(x) + gelu_tanh(x) - erf(x)", {"--n 1", "--n 1001"}},
    {"map", "--expr|y = tanh(x) + softplus(x) * sigmoid(x) + mish(x) - relu(x)", {"--n 2000"}},
    {"map",
     "--dtype f32 --operands x:positive --expr|y = log(x) + log2(x) / sqrt(x) - rsqrt(x) * exp2(x) + x^-2",
     {"--n 77"}},
    {"map",
     "--operands m:f32,v:f32:positive,p:f32 --expr|m = 0.9 * m + 0.1 * g; v = 0.99 * v + 0.01 * g * g; p = p "
     "- 0.01 * m / (sqrt(v) + 1e-8)",
     {"--n 1004"}},
    {"map",
     "--operands mu:column:f32,r:column:f32,w:row,b:row --expr|y = (a - mu) * r * w + b",
     {"--m 1 --n 8", "--m 5 --n 1000"}},
    {"map", "--operands s:scalar:f32,y:fp8 --expr|y = a * s", {"--m 5 --n 1004"}},
    {"map", "--operands s:scalar:f32,y:i8 --expr|y = clamp(a * s, -8, 8)", {"--n 1004"}},
    {"map", "--operands x:i32,y:f32 --expr|y = abs(x)", {"--n 77"}},
    {"map", "--operands x:fp8,w:bf8:row,s:scalar:f32 --expr|y = x * s + w", {"--m 3 --n 1000"}},
    {"map",
     "--operands x:i8,q:i8,y:f32 --expr|y = x * 0.5; q = x + 1; w = int(x) * 3",
     {"--n 4", "--n 1004"}},
    {"map",
     "--expr|y = xor(int(a) * 747796405 + int(b), shr(int(a), and(int(b), 31))); z = mul_hi(int(a), "
     "0xd2511f53) - "
     "sar(int(b), 3)",
     {"--n 1", "--n 1001"}},
    {"map",
     "--dtype f32 --expr|y = trunc(round(x * 2.5)); z = from_bits(xor(bits(x), 0x80000000)); m = int(i) >= "
     "-3 ? x : "
     "0.5; w = popcount(or(not(int(i)), shl(int(i), 7))) + leading_zeros(int(i)) * "
     "trailing_zeros(int(j)) + uless(int(i), 9) + equal(int(i), int(j))",
     {"--n 77"}},
    {"map",
     "--operands f:f32 --expr|f = float(int(a)) + ufloat(shr(int(a), 8)); a = choose(less(int(a), 0), "
     "-int(a), int(a))",
     {"--n 1001"}},
    {"all_reduce", "", {"--n 8", "--n 4104"}},
    {"all_reduce", "--devices 2 --dtype f32 --vectors 1", {"--n 1028"}},
    {"all_reduce", "--devices 8 --dtype f16 --vector 1", {"--n 1", "--n 1001"}},
    {"all_reduce_rmsnorm", "--dtype bf16", {"--m 1 --n 8", "--m 3 --n 1000"}},
    {"all_reduce_rmsnorm", "--devices 8 --dtype f32 --vectors 2", {"--m 3 --n 1028"}},
    {"all_reduce_rmsnorm", "--devices 2 --vector 1 --threads 64", {"--m 2 --n 255"}},
    {"reduce_scatter", "", {"--n 8", "--n 4104"}},
    {"reduce_scatter", "--devices 3 --dtype f32 --vector 1", {"--n 1025"}},
    {"reduce_scatter", "--devices 8 --dtype f16", {"--n 1000"}},
    {"all_gather", "", {"--n 8", "--n 4104"}},
    {"all_gather", "--devices 3 --dtype f32 --vector 1", {"--n 1", "--n 1025"}},
    {"all_gather", "--devices 8 --dtype f16 --vectors 1", {"--n 1000"}},
    {"moe_dispatch", "", {"--m 1 --rows 1 --n 8", "--m 9 --rows 5 --n 2056"}},
    {"moe_dispatch", "--devices 3 --dtype f32 --vector 1 --threads 64", {"--m 5 --rows 7 --n 67"}},
    {"moe_combine", "", {"--m 1 --rows 1 --n 8", "--m 9 --rows 5 --n 2056"}},
    {"moe_combine", "--devices 8 --k 8 --dtype f16", {"--m 5 --rows 9 --n 264"}},
    {"moe_combine", "--devices 2 --k 1 --dtype f32 --vector 1 --threads 128", {"--m 5 --rows 7 --n 67"}},
    {"dropout", "", {"--n 8", "--n 10000"}},
    {"dropout", "--dtype f32 --p 0.5", {"--n 4", "--n 1028"}},
    {"dropout", "--dtype f16 --vector 1 --p 0", {"--n 1", "--n 1001"}},
    {"row_reduce", "--op sum --dtype bf16", {"--m 1 --n 8", "--m 3 --n 1000"}},
    {"row_reduce", "--op mean --vector 1 --threads 64", {"--m 1 --n 1", "--m 3 --n 255"}},
    {"row_reduce", "--op max --dtype f32", {"--m 3 --n 1028"}},
    {"row_reduce", "--op min", {"--m 3 --n 1000"}},
    {"row_reduce", "--op absmax --out f16", {"--m 3 --n 1000"}},
    {"row_reduce", "--op squares --stream yes", {"--m 2 --n 9000"}},
    {"row_reduce", "--op norm", {"--m 3 --n 1000"}},
    {"row_reduce", "--op logsumexp --stream yes --threads 64 --vectors 1", {"--m 1 --n 8", "--m 2 --n 1032"}},
    {"argmax", "", {"--m 1 --n 8", "--m 5 --n 1000"}},
    {"argmax", "--stream yes --threads 64 --vectors 1 --dtype f32", {"--m 2 --n 1004"}},
    {"log_softmax", "--vector 1 --threads 64", {"--m 1 --n 1", "--m 3 --n 255"}},
    {"log_softmax", "--stream yes --threads 64 --vectors 1", {"--m 2 --n 1032"}},
    {"softmax_backward", "--dtype bf16", {"--m 1 --n 8", "--m 3 --n 1000"}},
    {"log_softmax_backward", "--stream yes --threads 64 --vectors 1", {"--m 3 --n 1032"}},
    {"cross_entropy", "--vector 1 --threads 64", {"--m 1 --n 1", "--m 5 --n 255"}},
    {"cross_entropy", "--dtype bf16 --stream yes --threads 64 --vectors 1", {"--m 5 --n 1032"}},
    {"cross_entropy_backward", "--dtype f32", {"--m 1 --n 4", "--m 5 --n 1028"}},
    {"rmsnorm_backward", "--dtype bf16", {"--m 1 --n 8", "--m 3 --n 1000"}},
    {"layernorm_backward", "--stream yes --threads 64 --vectors 1", {"--m 3 --n 1032"}},
    {"layernorm_backward", "--dtype f32", {"--m 1 --n 4", "--m 3 --n 1028"}},
    {"quantise", "--quant fp8", {"--m 1 --n 8", "--m 4 --n 1000"}},
    {"quantise", "--quant i8 --stream yes --threads 64 --vectors 1 --dtype bf16", {"--m 4 --n 1032"}},
    {"quantise", "--quant fp8 --block 128", {"--m 1 --n 128", "--m 4 --n 1152"}},
    {"quantise", "--quant bf8 --block 32 --dtype f32", {"--m 4 --n 1120"}},
    {"quantise", "--quant fp8 --amax yes", {"--m 1 --n 8", "--m 4 --n 1000"}},
    {"quantise", "--quant fp8 --amax yes --block 64 --stream no", {"--m 4 --n 1088"}},
    {"gate_and_mul",
     "--act silu --quant i8 --amax yes --stream yes --threads 64 --vectors 1",
     {"--m 3 --n 1032"}},
    {"gemm", "--amax yes --tile 64x64x64", {"--m 1 --n 1 --k 8", "--m 70 --n 81 --k 200"}},
    {"gemm",
     "--amax yes --dtype fp8 --out fp8 --scales yes --bias yes --activation gelu",
     {"--m 70 --n 300 --k 208"}},
    {"gemm", "--amax yes --tile 64x96x64 --waves 2x1 --out fp8 --alpha yes", {"--m 70 --n 200 --k 200"}},
    {"preshuffle_gemm", "--amax yes --dtype fp8 --out bf8", {"--m 70 --n 304 --k 256"}},
    {"gemm", "--tile 64x64x64 --dtype bf16 --groups 1", {"--n 1 --k 8"}},
    {"gemm", "--tile 64x64x64 --dtype bf16 --groups 70,0,1,130", {"--n 81 --k 200"}},
    {"gemm", "--arch gfx90a --tile 64x64x64 --groups 0,65", {"--n 70 --k 72"}},
    {"gemm",
     "--arch gfx950 --tile 64x64x128 --dtype fp8 --scales yes --bias yes --activation gelu --residual yes "
     "--groups 70x81x208,0x8x16,5x0x16,130x200x64",
     {""}},
    {"gemm", "--tile 64x64x64 --layout tt --alpha yes --beta in-place --groups 72x80x200,8x300x8", {""}},
    {"preshuffle_gemm", "--dtype fp8 --scales yes --groups 70,0,33", {"--n 304 --k 256"}},
    {"gemm", "--dtype fp8 --layout nn", {"--m 70 --n 80 --k 208"}},
    {"gemm", "--dtype i8 --layout tn --scales yes", {"--m 80 --n 144 --k 208"}},
    {"gemm", "--dtype bf8 --layout tt --tile 64x64x128", {"--m 80 --n 77 --k 208"}},
    {"gemm", "--arch gfx942 --dtype f32", {"--m 1 --n 1 --k 4", "--m 150 --n 133 --k 204"}},
    {"gemm", "--arch gfx950 --dtype f32 --direct-to-lds yes --tile 64x128x32", {"--m 150 --n 133 --k 204"}},
    {"gemm",
     "--arch gfx950 --dtype f32 --tile 64x64x32 --alpha yes --beta yes --bias yes --residual yes "
     "--activation silu",
     {"--m 70 --n 83 --k 100"}},
    {"gemm",
     "--arch gfx942 --dtype f32 --tile 64x64x16 --split 32 --split-k-fixup yes --pad-a 4 --pad-d 4",
     {"--m 70 --n 84 --k 100"}},
    {"gemm", "--arch gfx942 --dtype f32 --layout nn --tile 64x64x32", {"--m 70 --n 84 --k 100"}},
    {"gemm", "--arch gfx950 --dtype f32 --layout tt --tile 64x64x32", {"--m 72 --n 83 --k 100"}},
    {"gemm", "--arch gfx942 --dtype f64", {"--m 1 --n 1 --k 2", "--m 150 --n 133 --k 102"}},
    {"gemm", "--arch gfx950 --dtype f64 --direct-to-lds yes --stages 3", {"--m 150 --n 133 --k 102"}},
    {"gemm",
     "--arch gfx942 --dtype f64 --tile 64x64x16 --alpha yes --beta yes --bias yes --row-bias yes --residual "
     "yes "
     "--activation relu --scales yes",
     {"--m 70 --n 83 --k 50"}},
    {"gemm",
     "--arch gfx950 --dtype f64 --tile 64x64x16 --split 32 --split-k-fixup yes --split-k-at-once 2 --beta "
     "in-place "
     "--pad-a 2 --pad-b 4 --pad-d 4",
     {"--m 70 --n 84 --k 102"}},
    {"gemm", "--arch gfx942 --dtype f64 --layout nn --tile 64x64x16", {"--m 70 --n 82 --k 50"}},
    {"gemm", "--arch gfx950 --dtype f64 --layout tn --tile 64x64x16", {"--m 70 --n 82 --k 50"}},
    {"gemm", "--arch gfx942 --dtype xf32", {"--m 1 --n 1 --k 4", "--m 150 --n 133 --k 204"}},
    {"gemm", "--arch gfx942 --dtype xf32 --mfma 32 --tile 64x64x32 --bias yes", {"--m 70 --n 83 --k 100"}},
    {"gemm", "--arch gfx950 --dtype mxfp8", {"--m 1 --n 1 --k 256", "--m 150 --n 133 --k 768"}},
    {"gemm",
     "--arch gfx950 --dtype mxbf8 --tile 64x64x256 --direct-to-lds yes --out f32 --bias yes --activation "
     "relu",
     {"--m 70 --n 83 --k 512"}},
    {"preshuffle_gemm", "--arch gfx950 --dtype mxfp8 --tile 64x128x256", {"--m 70 --n 144 --k 512"}},
    {"gate_and_mul", "--act gelu", {"--m 1 --n 8", "--m 3 --n 1000"}},
    {"gate_and_mul", "--act relu --stream yes --threads 64 --vectors 1 --dtype f32", {"--m 3 --n 1028"}},
    {"gate_and_mul", "--act silu --quant fp8 --block 128 --dtype bf16", {"--m 3 --n 1152"}},
    {"gate_and_mul", "--act gelu_tanh --quant i8", {"--m 3 --n 1000"}},
    {"topk_gating", "--experts 256 --k 8", {"--m 1", "--m 7"}},
    {"topk_gating", "--experts 128 --k 4 --renormalise no --dtype bf16", {"--m 5"}},
    {"topk_gating", "--experts 64 --k 1", {"--m 5"}},
    {"grouped_gating", "", {"--m 1", "--m 7"}},
    {"grouped_gating", "--groups 1 --topk-group 1 --experts 384 --scale 2.5 --dtype bf16", {"--m 5"}},
    {"grouped_gating",
     "--groups 4 --topk-group 1 --experts 64 --k 3 --renormalise no --dtype f16",
     {"--m 5"}},
    {"moe_starts", "", {"--n 1 --experts 1", "--n 200 --experts 7", "--n 333 --experts 256"}},
    {"moe_blocks", "--block 16", {"--n 1 --experts 1", "--n 200 --experts 7", "--n 640 --experts 256"}},
    {"moe_places", "", {"--n 4 --experts 1", "--n 200 --experts 7", "--n 516 --experts 256"}},
    {"moe_sort", "--k 8 --block 64", {"--n 64 --experts 1", "--n 192 --experts 7"}},
    {"weighted_combine", "--k 8", {"--m 1 --n 8 --rows 1", "--m 5 --n 264 --rows 9"}},
    {"weighted_combine", "--k 1 --dtype f32 --vector 1 --threads 64", {"--m 3 --n 67 --rows 9"}},
    {"transpose", "", {"--b 1 --m 8 --n 8", "--b 2 --m 72 --n 136"}},
    {"transpose", "--vector 1", {"--b 1 --m 1 --n 1", "--b 2 --m 67 --n 131"}},
    {"transpose", "--dtype f32", {"--b 2 --m 68 --n 132"}},
    {"transpose", "--dtype f32 --vector 1", {"--b 1 --m 67 --n 65"}},
    {"transpose", "--tile 32", {"--m 8 --n 8", "--b 2 --m 72 --n 136"}},
    {"transpose", "--tile 32 --vector 1 --dtype f32", {"--m 1 --n 1", "--b 2 --m 67 --n 35"}},
    {"causal_conv1d", "--rows 1", {"--b 1 --t 1 --d 8", "--b 2 --t 37 --d 520"}},
    {"causal_conv1d", "--rows 4 --width 3 --vector 1 --dtype f32", {"--b 2 --t 9 --d 67"}},
    {"topk_gating", "--lanes 64", {"--m 1", "--m 33"}},
    {"topk_gating", "--lanes 32 --experts 64 --k 3 --dtype bf16", {"--m 9"}},
    {"topk_gating", "--lanes 16 --experts 512 --renormalise no", {"--m 17"}},
    {"topk_gating", "--lanes 4 --experts 256 --k 6 --dtype f16", {"--m 1", "--m 65"}},
    {"swap_axes", "", {"--b 1 --s 1 --h 1", "--b 2 --s 33 --h 5"}},
    {"swap_axes", "--d 2 --dtype f32", {"--b 2 --s 33 --h 5"}},
    {"gather_rows", "", {"--tokens 1 --rows 1 --n 8", "--tokens 9 --rows 11 --n 2056"}},
    {"gather_rows", "--dtype f32 --vector 1 --threads 64", {"--tokens 5 --rows 11 --n 67"}},
    {"pad", "--c 8", {"--n 1 --h 1 --w 1"}},
    {"pad", "--c 72 --left 3 --bottom -2", {"--n 2 --h 5 --w 7"}},
    {"pad", "--c 1 --vector 1 --top -1 --left 0 --right 9", {"--n 1 --h 2 --w 1", "--n 2 --h 3 --w 300"}},
    {"pad", "--c 8 --top -3 --bottom -2", {"--n 1 --h 6 --w 5", "--n 1 --h 5 --w 5"}},
    {"concat", "", {"--rows 1 --a 8 --b 8", "--rows 3 --a 2040 --b 16"}},
    {"concat", "--dtype f32 --vector 1", {"--rows 1 --a 1 --b 1", "--rows 3 --a 67 --b 260"}},
    {"causal_conv1d", "", {"--b 1 --t 1 --d 8", "--b 2 --t 35 --d 520"}},
    {"causal_conv1d", "--dtype f32 --width 2 --bias no --silu no --vector 1", {"--b 1 --t 2 --d 67"}},
    {"causal_conv1d_update", "", {"--b 1 --d 8", "--b 11 --d 1032"}},
    {"causal_conv1d_update", "--width 2 --rows 4 --dtype f16", {"--b 5 --d 520"}},
    {"causal_conv1d_update",
     "--dtype f32 --width 3 --bias no --silu no --vector 1 --rows 32",
     {"--b 33 --d 67"}},
    {"gated_delta_step", "", {"--batch 1 --heads 2", "--batch 3 --heads 6"}},
    {"gated_delta_step",
     "--key 64 --value 256 --columns 256 --group 3 --dtype f16 --state f16 --decay no",
     {"--batch 2 --heads 6"}},
    {"gated_delta_step",
     "--key 256 --value 32 --columns 32 --group 1 --dtype f32 --normalise no --threads 64",
     {"--batch 2 --heads 1"}},
    {"gated_delta_step", "--state bf16 --columns 128 --threads 128", {"--batch 2 --heads 4"}},
    {"gated_delta_gates", "", {"--batch 1 --tokens 1 --heads 1", "--batch 2 --tokens 131 --heads 3"}},
    {"gated_delta_keys", "", {"--batch 1 --tokens 1 --heads 1", "--batch 2 --tokens 70 --heads 3"}},
    {"gated_delta_keys", "--key 64 --normalise no --dtype f16", {"--batch 1 --tokens 65 --heads 2"}},
    {"gated_delta_inverse", "", {"--batch 1 --tokens 1 --heads 2", "--batch 2 --tokens 65 --heads 4"}},
    {"gated_delta_inverse", "--key 64 --group 3 --dtype f16", {"--batch 1 --tokens 64 --heads 3"}},
    {"gated_delta_rows", "", {"--batch 1 --tokens 1 --heads 2", "--batch 2 --tokens 70 --heads 4"}},
    {"gated_delta_rows",
     "--key 64 --value 64 --group 1 --dtype f16",
     {"--batch 1 --tokens 63 --heads 1", "--batch 2 --tokens 129 --heads 3"}},
    {"gated_delta_rows", "--arch gfx950 --key 64", {"--batch 1 --tokens 127 --heads 2"}},
    {"gated_delta_state", "", {"--batch 1 --heads 2", "--batch 3 --heads 4"}},
    {"gated_delta_state",
     "--key 64 --value 64 --group 1 --columns 16 --chunks 1 --dtype f16",
     {"--batch 1 --heads 1", "--batch 2 --heads 3"}},
    {"gated_delta_state",
     "--arch gfx950 --value 64 --columns 32 --group 4 --chunks 3",
     {"--batch 2 --heads 8"}},
    {"gated_delta_state", "--key 64 --columns 16 --chunks 8", {"--batch 1 --heads 2"}},
    {"gated_delta_out", "", {"--batch 1 --tokens 1 --heads 2", "--batch 2 --tokens 70 --heads 4"}},
    {"gated_delta_out",
     "--key 64 --value 64 --group 1 --dtype f16",
     {"--batch 1 --tokens 63 --heads 1", "--batch 2 --tokens 129 --heads 3"}},
    {"gated_delta_out", "--arch gfx950 --value 64", {"--batch 1 --tokens 65 --heads 2"}},
    {"conv2d", "--c 8", {"--n 1 --h 1 --w 1 --k 4"}},
    {"conv2d", "--c 40", {"--n 3 --h 9 --w 7 --k 68"}},
    {"conv2d",
     "--dtype f16 --out f32 --r 2 --s 5 --stride 3 --dilation 2 --pad 4 --tile 128x64",
     {"--n 2 --h 11 --w 6 --c 64 --k 72"}},
    {"conv3d", "--c 8", {"--n 1 --d 1 --h 1 --w 1 --k 4", "--n 2 --d 5 --h 3 --w 4 --k 36"}},
    {"conv3d",
     "--c 40 --stride 2 --stride-d 3 --dilation 2 --pad 2 --pad-d 0 --t 2 --r 1 --s 4",
     {"--n 3 --d 9 --h 9 --w 7 --k 68"}},
    {"conv3d",
     "--dilation-d 2 --pad-d 2 --tile 128x64 --dtype f16 --out f32",
     {"--n 1 --d 4 --h 5 --w 9 --k 4"}},
    {"conv2d", "--tile 32x32 --c 8", {"--n 1 --h 5 --w 9 --k 4"}},
    {"conv2d", "--dtype fp8 --c 16", {"--n 1 --h 1 --w 1 --k 4", "--n 3 --h 9 --w 7 --k 68"}},
    {"conv2d", "--arch gfx950 --dtype fp8 --c 128 --tile 128x64", {"--n 2 --h 9 --w 7 --k 68"}},
    {"conv2d", "--arch gfx950 --dtype fp8 --c 80 --stride 2 --pad 2", {"--n 2 --h 9 --w 7 --k 12"}},
    {"conv3d", "--dtype fp8 --c 48 --tile 32x32", {"--n 2 --d 5 --h 3 --w 4 --k 36"}},
    {"scatter_rows", "", {"--tokens 1 --rows 1 --n 8", "--tokens 9 --rows 11 --n 2056"}},
    {"scatter_rows",
     "--dtype f32 --vector 1 --threads 64",
     {"--tokens 5 --rows 3 --n 67", "--tokens 3 --rows 9 --n 1"}},
    {"kv_write", "", {"--tokens 1 --kv-heads 1 --slots 1 --rows 1", "--tokens 9 --kv-heads 11 --slots 40"}},
    {"kv_write", "--kv-dtype fp8 --head-dim 64", {"--tokens 7 --kv-heads 5 --slots 16 --rows 3"}},
    {"kv_write",
     "--dtype f16 --kv-dtype f16 --rope no --threads 128",
     {"--tokens 20 --kv-heads 9 --slots 17"}},
    {"kv_write",
     "--dtype f16 --kv-dtype fp8 --rope no --head-dim 512",
     {"--tokens 6 --kv-heads 1 --slots 9"}},
    {"scatter_add", "--n 2048", {"--tokens 1 --rows 1 --n 4", "--tokens 9 --rows 5 --n 1028"}},
    {"group_norm", "", {"--b 1 --groups 1 --pixels 8", "--b 2 --groups 3 --pixels 1000"}},
    {"group_norm",
     "--channels 10 --stream yes --vector 4 --threads 64 --dtype bf16",
     {"--b 2 --groups 2 --pixels 300"}},
    {"group_norm",
     "--channels 3 --vector 1 --dtype f32",
     {"--b 1 --groups 2 --pixels 1", "--b 3 --groups 2 --pixels 49"}},
    {"gemv", "--m 1", {"--n 1 --k 8", "--n 101 --k 1032"}},
    {"gemv", "--m 4 --rows 8 --vectors 1 --dtype f32 --out f32", {"--n 9 --k 516"}},
    {"gemv", "--m 2 --vector 1 --distance 0", {"--n 5 --k 67"}},
    {"flash_attention",
     "--window 128 --group 2 --head-dim 64 --dtype f16",
     {"--queries 1 --keys 1", "--queries 65 --keys 65", "--batch 2 --queries 330 --keys 330"}},
    {"flash_attention",
     "--window 33 --tile-q 32 --tile-k 32 --waves 1 --head-dim 64",
     {"--queries 100 --keys 100 --heads 3"}},
    {"flash_attention", // two tiles before the diagonal
     "--window 34 --tile-q 32 --tile-k 32 --waves 1 --head-dim 64",
     {"--queries 1 --keys 1", "--queries 64 --keys 64", "--queries 97 --keys 97 --heads 3"}},
    {"flash_attention", // likewise, and two tiles of keys for the rows of a workgroup
     "--window 64 --tile-q 64 --tile-k 32 --waves 2 --head-dim 64",
     {"--queries 1 --keys 1", "--queries 64 --keys 64", "--queries 161 --keys 161 --heads 3"}},
    {"varlen_attention",
     "",
     {"--sequences 1 --queries 1 --kv-heads 1 --keys 64 --pages 2",
      "--sequences 9 --queries 130 --keys 192"}},
    {"varlen_attention",
     "--causal no --page 1 --tile-q 16 --tile-k 32 --waves 1 --head-dim 64 --group 3 --dtype f16",
     {"--sequences 8 --queries 37 --keys 96 --pages 200"}},
    {"varlen_attention",
     "--tile-q 64 --waves 2 --page 32 --group 2",
     {"--sequences 7 --queries 70 --keys 128"}},
    {"varlen_attention",
     "--window 50 --sinks yes --soft-cap 3 --head-dim 64 --page 8 --group 2",
     {"--sequences 8 --queries 130 --keys 256"}},
    {"varlen_attention",
     "--alibi yes --group 4 --tile-q 16 --waves 1",
     {"--sequences 8 --queries 70 --keys 128"}},
    {"varlen_attention",
     "--bias yes --causal no --head-dim 96 --dtype f16 --page 1",
     {"--sequences 8 --queries 70 --keys 128 --pages 300"}},
    {"varlen_attention", "--kv-dtype fp8 --sinks yes", {"--sequences 8 --queries 70 --keys 128"}},
    {"varlen_attention",
     "--dtype fp8 --page 1 --group 2",
     {"--sequences 8 --queries 70 --keys 128 --pages 200"}},
    {"varlen_attention", "--head-dim 192 --value-dim 128", {"--sequences 8 --queries 70 --keys 128"}},
    {"varlen_attention", "--head-dim 64", {"--sequences 3 --queries 70 --keys 128 --blocks 9 --rows 200"}},
    {"gemm", // pairs of bf16, by pointers
     "--arch gfx942 --dtype bf16 --tile 64x64x64 --split 128 --split-k-fixup no",
     {"--m 1 --n 2 --k 8", "--m 70 --n 82 --k 520"}},
    {"attention_blocks",
     "",
     {"--sequences 1 --blocks 1 --pages 1", "--sequences 7 --blocks 3 --pages 65",
      "--sequences 5 --blocks 2 --pages 300"}},
    {"attention_blocks", "--causal no --tile 128", {"--sequences 6 --blocks 2 --pages 70"}},
    {"attention_blocks", "--window 50", {"--sequences 7 --blocks 3 --pages 130"}},
    {"attention_blocks", "--paged yes --window 9", {"--sequences 6 --blocks 3 --pages 33"}},
    {"varlen_attention", "--head-dim 256 --tile-k 32 --window 7", {"--sequences 8 --queries 70 --keys 128"}},
    {"paged_decode",
     "--split 64",
     {"--sequences 9 --keys 576", "--sequences 1 --kv-heads 1 --keys 64 --pages 4"}},
    {"paged_decode", "--soft-cap 2 --sinks yes", {"--sequences 3 --keys 256"}},
    {"paged_decode",
     "--window 1",
     {"--sequences 9 --keys 256", "--sequences 1 --kv-heads 1 --keys 256 --pages 4"}},
    {"paged_decode", "--window 65 --split 64 --group 2", {"--sequences 9 --keys 192"}}, // two parts
    {"paged_decode",                                                                    // one, of three tiles
     "--window 50 --sinks yes --kv-dtype fp8 --page 4 --split 96 --group 3",
     {"--sequences 9 --keys 160 --pages 99"}},
    {"paged_decode",
     "--window 65 --sinks yes --soft-cap 2 --page 1 --kv-dtype fp8 --head-dim 64 --group 1 --split 32",
     {"--sequences 9 --keys 160", "--sequences 1 --kv-heads 1 --keys 128 --pages 4"}},
    {"paged_decode",
     "--window 600 --page 64 --tile-k 64 --split 128 --dtype f16 --kv-dtype f16",
     {"--sequences 9 --keys 1152 --pages 99"}},
    {"paged_decode",
     "--page 1 --kv-dtype fp8 --head-dim 64 --group 1 --distance 2 --tile-k 32 --split 96",
     {"--sequences 8 --keys 192"}},
    {"paged_decode",
     "--page 64 --dtype f16 --kv-dtype f16 --group 16 --split 128",
     {"--sequences 3 --keys 256 --pages 7"}},
    {"mla_decode", "", {"--sequences 9 --keys 512", "--sequences 1 --keys 256 --pages 3"}},
    {"mla_decode",
     "--heads 128 --queries 2 --page 1 --kv-dtype fp8 --split 64",
     {"--sequences 3 --keys 128 --pages 300"}},
    {"mla_decode",
     "--heads 8 --queries 4 --page 32 --dtype f16 --kv-dtype f16 --split 96",
     {"--sequences 8 --keys 192"}},
    {"mla_decode", "--page 64 --split 64", {"--sequences 4 --keys 128 --pages 9"}},
    {"mla_decode", "--split 192", {"--sequences 9 --keys 512", "--sequences 2 --keys 32"}},
    {"mla_reduce", "", {"--sequences 9 --keys 1280", "--sequences 1 --keys 256"}},
    {"mla_reduce", "--split 192", {"--sequences 9 --keys 1280", "--sequences 2 --keys 32"}},
    {"mla_reduce", "--heads 128 --queries 3 --split 64 --dtype f16", {"--sequences 8 --keys 192"}},
    {"attention_backward_delta", "", {"--queries 1 --heads 1", "--batch 2 --queries 70 --heads 3"}},
    {"attention_backward_delta", "--dtype f16 --head-dim 64 --group 4", {"--queries 33 --heads 8"}},
    {"attention_backward_dq", "", {"--queries 1 --keys 1 --heads 1", "--batch 2 --queries 70 --keys 45"}},
    {"attention_backward_dq",
     "--causal 1 --group 4 --head-dim 64 --dtype f16",
     {"--queries 70 --keys 90 --heads 4", "--queries 90 --keys 33 --heads 8"}},
    {"attention_backward_dkv", "", {"--queries 1 --keys 1 --heads 1", "--batch 2 --queries 45 --keys 70"}},
    {"attention_backward_dkv",
     "--causal 1 --group 4 --head-dim 64 --dtype f16",
     {"--queries 70 --keys 190 --heads 4", "--queries 33 --keys 20 --heads 8"}},
    {"moe_stage1",
     "--dtype fp8",
     {"--tokens 1 --k 16 --inter 16 --experts 1", "--tokens 33 --k 112 --inter 80 --experts 3"}},
    {"moe_stage1", "--dtype fp8 --scales block", {"--tokens 33 --k 256 --inter 144 --experts 3"}},
    {"moe_stage1", "--arch gfx950 --dtype fp4", {"--tokens 33 --k 256 --inter 144 --experts 3"}},
    {"moe_stage1", "--arch gfx950 --dtype fp4 --tile-m 32", {"--tokens 5 --k 512 --inter 8 --experts 1"}},
    {"moe_stage2", "--arch gfx950 --dtype fp4", {"--tokens 33 --k 136 --inter 256 --experts 3"}},
    {"moe_stage2",
     "--arch gfx950 --dtype fp4 --tile-m 32 --out bf16",
     {"--tokens 5 --k 8 --inter 512 --experts 2"}},
    {"grouped_gemm", "--arch gfx950 --dtype fp4", {"--m 300 --n 260 --k 256", "--m 7 --n 4 --k 768"}},
    {"grouped_gemm",
     "--arch gfx950 --dtype fp4 --waves 2x4 --tile-m 256 --direct-to-lds yes --out f32",
     {"--m 500 --n 260 --k 512"}},
    {"moe_stage1",
     "--group 64",
     {"--tokens 33 --k 192 --inter 72 --experts 3", "--tokens 1 --k 64 --inter 8 --experts 1"}},
    {"moe_stage1", "--group 32 --dtype f16 --tile-m 64", {"--tokens 33 --k 160 --inter 136 --experts 3"}},
    {"moe_stage1", "--group 128", {"--tokens 9 --k 256 --inter 72 --experts 2"}},
    {"moe_stage2", "--group 128", {"--tokens 33 --k 72 --inter 256 --experts 3"}},
    {"moe_stage2",
     "--group 32 --dtype f16 --out f16 --arch gfx950",
     {"--tokens 9 --k 136 --inter 96 --experts 2"}},
    {"moe_stage1", "--dtype i8 --tile-m 32", {"--tokens 33 --k 144 --inter 80 --experts 3"}},
    {"moe_stage2",
     "--dtype fp8",
     {"--tokens 1 --k 8 --inter 16 --experts 1", "--tokens 33 --k 104 --inter 80 --experts 3"}},
    {"moe_stage2", "--dtype fp8 --scales block --out f16", {"--tokens 33 --k 136 --inter 256 --experts 3"}},
    {"moe_stage2", "--dtype i8", {"--tokens 33 --k 104 --inter 80 --experts 3"}},
    {"grouped_gemm", "", {"--m 1 --n 4 --k 8 --groups 1", "--m 300 --n 72 --k 200"}},
    {"grouped_gemm", "--dtype fp8 --tile-m 128", {"--m 500 --n 68 --k 144"}},
    {"grouped_gemm",
     "--tile-m 256 --tile-n 256 --waves 2x4 --direct-to-lds yes",
     {"--m 700 --n 300 --k 200"}},
    {"grouped_gemm",
     "--dtype fp8 --scales block --tile-n 128 --out f32",
     {"--m 300 --n 260 --k 384 --groups 2"}},
    {"grouped_gemm", "--dtype i8 --out f16", {"--m 300 --n 72 --k 208"}},
    {"dual_gemm", "", {"--m 1 --n 4 --k 8", "--m 150 --n 72 --k 200"}},
    {"dual_gemm", "--tile 32x32x128 --act gelu --dtype f16 --out f32", {"--m 33 --n 36 --k 72"}},
    {"dual_gemm", "--tile 64x64x64 --act relu --transfer yes", {"--m 65 --n 68 --k 264"}},
    {"batched_gemm", "", {"--b 1 --m 1 --n 4 --k 8", "--b 3 --m 72 --n 136 --k 200"}},
    {"batched_gemm", "--tile 32 --dtype f16 --out f32", {"--b 2 --m 33 --n 36 --k 72"}},
    {"batched_gemm",
     "--pad-a 8 --gap-a 8 --pad-x 8 --gap-x 8 --pad-c 4 --gap-c 4",
     {"--b 3 --m 70 --n 68 --k 72 --pad-a 16 --gap-a 24 --pad-x 64 --gap-x 0 --pad-c 8 --gap-c 12",
      "--b 2 --m 1 --n 4 --k 8 --pad-a 0 --gap-a 0 --pad-x 0 --gap-x 8 --pad-c 0 --gap-c 4"}},
    {"batched_gemm", "--same-a yes --gap-x 8 --tile 32", {"--b 3 --m 33 --n 36 --k 72"}},
    {"batched_gemm",
     "--same-x yes --gap-a 8 --gap-c 4",
     {"--b 3 --m 72 --n 68 --k 8", "--b 1 --m 1 --n 4 --k 72"}}};

/// `--n 5 --expr|all of the rest`.
Flags flags_of(const std::string& text, const std::string& arch) {
  Flags flags = {{"arch", arch}};
  std::istringstream words(text);
  for (std::string name; words >> name;) {
    const std::size_t bar = name.find('|');
    std::string value;
    if (bar != std::string::npos) {
      std::getline(words, value);
      value = name.substr(bar + 1) + value;
      name.resize(bar);
    } else {
      words >> value;
    }
    flags[name.substr(2)] = value;
  }
  return flags;
}

} // namespace

TEST_CASE("catalogue: each kernel's results are its reference's, whatever the sizes") {
  std::size_t number = 0;
  for (const Row& row : table) {
    const std::string arch = number++ % 2 == 0 ? "gfx942" : "gfx950";
    INFO(row.kernel << " " << row.options << " " << arch);
    const auto kernel = find_kernel(row.kernel);
    const Artifact artifact = kernel->build(flags_of(row.options, arch), {});
    for (const std::string& sizes : row.sizes) {
      INFO(sizes);
      const Flags flags = flags_of(sizes + " " + row.options, arch); // which may name another target
      const Problem problem = kernel->problem(flags, 3);
      const std::vector<Bytes> after = launch(artifact, problem, number % 3 == 0);
      const Check check = problem.check(after);
      INFO(check.message);
      REQUIRE(check.ok);
      for (std::size_t i = 0; i < after.size(); ++i) {
        if (!problem.buffers[i % problem.buffers.size()].output || after[i].empty()) continue;
        std::vector<Bytes> wrong = after;
        wrong[i].back() ^= std::byte{0x40}; // an exponent, of whole numbers a bit of value
        CHECK_FALSE(problem.check(wrong).ok);
      }
    }
  }
}

TEST_CASE("catalogue: every kernel stands in one group, and every kernel that came with the table is in it") {
  std::set<std::string> grouped, listed, tabled;
  for (const KernelGroup& group : kernel_groups()) {
    CHECK_FALSE(group.kernels.empty());
    for (const std::string& name : group.kernels) CHECK(grouped.insert(name).second);
  }
  for (const auto& kernel : registry()) listed.insert(kernel->name());
  CHECK(grouped == listed);
  for (const Row& row : table) tabled.insert(row.kernel);
  const std::set<std::string> older = {
      "gemm",       "preshuffle_gemm", "block_scale_gemm", "weight_only_gemm",
      "moe_stage1", "moe_stage2",      "flash_attention",  "softmax",
      "rmsnorm",    "layernorm",       "silu_and_mul",     "rope",
      "cumsum",     "vector_add"}; // have tests of their own
  for (const std::string& name : listed) CHECK((tabled.contains(name) || older.contains(name)));
  const Ran ran = inlay_command({"kernels"});
  CHECK_THAT(ran.out, Contains("Mixture of experts\n  topk_gating"));
}

TEST_CASE("map: what a formula gets wrong is said with its place", "[error]") {
  const auto said = [](const std::string& expr, const std::string& operands = "") {
    std::vector<std::string> words = {"map", "--expr", expr};
    if (!operands.empty()) words.insert(words.end(), {"--operands", operands});
    const Ran ran = inlay_run(words);
    CHECK(ran.exit == 2);
    return ran.err;
  };
  CHECK_THAT(said("y = silu(a) * * b"), Contains("expected a number, a name or '(' at position 14\n  text   "
                                                 "y = silu(a) * * b\n                       ^\n"));
  CHECK_THAT(said("y = slu(a)"),
             Contains("expected a function at position 4") && Contains("did you mean silu?"));
  CHECK_THAT(said("y = max(a)"),
             Contains("expected 2 operands, and these are 1 at position 4") && Contains("max(x, y)"));
  CHECK_THAT(said("y = a; y = b"), Contains("a name that is written once; y is again"));
  CHECK_THAT(said("y = a ^ 2.5"), Contains("an exponent") && Contains("exp2(y * log2(x))"));
  CHECK_THAT(said("y = a ^ 0"), Contains("an exponent"));
  CHECK_THAT(said("y = 1e300 * a"), Contains("expected a number of f32 at position 4"));
  CHECK_THAT(said("silu = a"), Contains("silu is a function"));
  CHECK_THAT(said("y = (a"), Contains("expected ')' at position 6"));
  CHECK_THAT(said("y = a b"), Contains("expected an operator, ';' or the end at position 6"));
  CHECK_THAT(said("y = a > 1"), Contains("expected '?'"));
  CHECK_THAT(said(""), Contains("the name of an output at position 0"));
  CHECK_THAT(said("y = 2"), Contains("reads nothing"));
  CHECK_THAT(said("y = " + std::string(200, '(') + "a"), Contains("fewer parentheses"));
  CHECK_THAT(said("y = count"), Contains("'count' is the name of a size"));
  CHECK_THAT(said("y = a", "b:f32"), Contains("'b' is no name of --expr 'y = a'"));
  CHECK_THAT(said("y = a", "a:f17"), Contains("'f17' is no type and no shape"));
  CHECK_THAT(said("y = a", "a:i64"), Contains("'a' is read as i64"));
  CHECK_THAT(said("y = a", "a:e4m3fn"),
             Contains("'a' is read as e4m3fn") && Contains("e4m3fnuz or e5m2fnuz"));
  CHECK_THAT(said("y = a", "y:i32"), Contains("'y' is written as i32") && Contains("trunc(round(x))"));
  CHECK_THAT(said("y = int(a)", "a:f32"), Contains("int(a) is of f32") && Contains("trunc(a)"));
  CHECK_THAT(said("y = int(a)", "y:f32"), Contains("'y' is an integer, and is written as f32"));
  CHECK_THAT(said("y = bits(a)", "a:i32"), Contains("bits(a) is of i32"));
  CHECK_THAT(said("y = int(a) + b"), Contains("expected integers on both sides of + at position"));
  CHECK_THAT(said("y = int(a) + 0.5"), Contains("expected a whole number of 32 bits beside an integer"));
  CHECK_THAT(said("y = int(a) + 4294967296"), Contains("expected a whole number of 32 bits"));
  CHECK_THAT(said("y = int(a) / 2"), Contains("expected numbers to divide") && Contains("shr(w, n)"));
  CHECK_THAT(said("y = int(a + 1)"),
             Contains("expected a name as it is read at position 4") && Contains("trunc(x)"));
  CHECK_THAT(said("b = a + 1; y = int(b)"), Contains("expected a name as it is read"));
  CHECK_THAT(said("y = silu(int(a))"), Contains("expected numbers, and there is an integer at position 4"));
  CHECK_THAT(said("y = shl(a, 1)"), Contains("expected integers in shl(w, n)"));
  CHECK_THAT(said("y = trunc(int(a))"), Contains("expected a number, and this is an integer"));
  CHECK_THAT(said("y = a >= 0 ? int(b) : a"), Contains("expected two integers, or two numbers"));
  CHECK_THAT(said("y = 0x100000000 + int(a)"), Contains("expected an integer of 32 bits at position 4"));
  CHECK_THAT(said("y = a", "y:row"), Contains("the output 'y' is not whole"));
}

TEST_CASE("map: a comparison that is not >= takes the other side where both are equal") {
  const auto kernel = find_kernel("map");
  for (const auto& [sign, of_equal] : {std::pair(">=", 1.0F), {">", 2.0F}, {"<=", 1.0F}, {"<", 2.0F}}) {
    const Artifact artifact =
        kernel->build({{"dtype", "f32"}, {"expr", fmt::format("y = x {} 3 ? 1 : 2", sign)}}, {});
    const auto y = first_of<float, float>(artifact, {2, 3, 4}, {3}, 3);
    const bool above = sign[0] == '>';
    CHECK(y == std::vector<float>{above ? 2.0F : 1.0F, of_equal, above ? 1.0F : 2.0F});
  }
}

TEST_CASE("catalogue: batched_gemm of rows and matrices that are apart is what plain loops give, and leaves "
          "what lies between") {
  // Whole numbers, whose sums are exact; what lies between is NaN in A and X.
  const std::int64_t b = 3, m = 33, n = 36, k = 40, pad_a = 8, gap_a = 24, pad_x = 16, gap_x = 8, pad_c = 4,
                     gap_c = 20;
  const auto whole = [](std::int64_t i, std::int64_t j, std::int64_t l) {
    return double((i * 5 + j * 7 + l * 3 + j * l) % 5 - 2);
  };
  for (const bool same : {false, true})
    for (const std::string arch : {"gfx942", "gfx950"}) {
      CAPTURE(same, arch);
      const Flags flags = {{"arch", arch}, {"tile", "32"},  {"out", "f32"},  {"b", "3"},
                           {"m", "33"},    {"n", "36"},     {"k", "40"},     {"same-x", same ? "yes" : "no"},
                           {"pad-a", "8"}, {"gap-a", "24"}, {"pad-x", "16"}, {"gap-x", "8"},
                           {"pad-c", "4"}, {"gap-c", "20"}};
      const auto kernel = find_kernel("batched_gemm");
      Problem problem = kernel->problem(flags, 1);
      const std::int64_t of_a = m * (k + pad_a) + gap_a, of_x = n * (k + pad_x) + gap_x,
                         of_c = m * (n + pad_c) + gap_c;
      const auto fill = [&](Bytes& data, std::int64_t matrices, std::int64_t rows, std::int64_t row,
                            std::int64_t matrix) {
        REQUIRE(data.size() == std::size_t(2 * ((matrices - 1) * matrix + (rows - 1) * row + k)));
        std::fill(data.begin(), data.end(), std::byte{0xff});
        for (std::int64_t i = 0; i < matrices; ++i)
          for (std::int64_t j = 0; j < rows; ++j)
            for (std::int64_t l = 0; l < k; ++l)
              codegen::put_code(data, std::size_t(i * matrix + j * row + l), codegen::Element::bf16,
                                codegen::encode(codegen::Element::bf16, whole(i, j, l)));
      };
      for (auto& buffer : problem.buffers)
        if (buffer.name == "a")
          fill(buffer.data, b, m, k + pad_a, of_a);
        else if (buffer.name == "x")
          fill(buffer.data, same ? 1 : b, n, k + pad_x, of_x);
        else
          std::fill(buffer.data.begin(), buffer.data.end(), std::byte{0xff});
      const Bytes c = launch(kernel->build(flags, {}), problem, true).at(0);
      REQUIRE(c.size() == std::size_t(4 * ((b - 1) * of_c + (m - 1) * (n + pad_c) + n)));
      std::vector<float> got(c.size() / 4);
      std::memcpy(got.data(), c.data(), c.size());
      std::size_t checked = 0;
      for (std::int64_t i = 0; i < b; ++i)
        for (std::int64_t j = 0; j < m; ++j)
          for (std::int64_t l = 0; l < n; ++l) {
            double sum = 0;
            for (std::int64_t at = 0; at < k; ++at) sum += whole(i, j, at) * whole(same ? 0 : i, l, at);
            float& one = got[std::size_t(i * of_c + j * (n + pad_c) + l)];
            REQUIRE(double(one) == sum);
            one = NAN, ++checked;
          }
      CHECK(checked == std::size_t(b * m * n));
      for (const float one : got) REQUIRE(std::isnan(one)); // what lies between is as it was
    }
}

TEST_CASE("catalogue: varlen_attention has 64 keys at a time where they divide, and as many waves as 16 "
          "queries each") {
  for (const auto& [flags, form] : {std::pair("--tile-q 32 --queries 40 --keys 96", "--tile-k 32 --waves 2:"),
                                    {"--tile-q 16 --queries 20 --keys 128", "auto       --waves 1:"},
                                    {"--tile-q 128 --queries 40 --keys 128", "what stands without sizes:"}}) {
    std::vector<std::string> words = {"run", "varlen_attention"};
    std::istringstream in(flags);
    for (std::string word; in >> word;) words.push_back(word);
    const Ran ran = inlay_command(words);
    CAPTURE(flags, ran.err);
    CHECK(ran.exit == 0);
    CHECK_THAT(ran.out, Contains(form));
  }
}

TEST_CASE("catalogue: what a kernel does not take is said by its option", "[error]") {
  const auto said = [](std::vector<std::string> words) {
    const Ran ran = inlay_run(std::move(words));
    CHECK(ran.exit == 2);
    return ran.err;
  };
  CHECK_THAT(said({"topk_gating", "--experts", "100"}),
             Contains("topk_gating: --experts 100") && Contains("64, 128, 256 or 512"));
  CHECK_THAT(said({"quantise", "--block", "128", "--n", "1000"}),
             Contains("--n 1000 is no multiple of --block 128"));
  CHECK_THAT(said({"gate_and_mul", "--block", "128"}), Contains("--block without --quant"));
  CHECK_THAT(said({"gate_and_mul", "--amax", "yes"}), Contains("--amax without --quant"));
  CHECK_THAT(said({"gemm", "--amax", "yes", "--split", "64", "--out", "f32"}), Contains("amax = yes"));
  CHECK_THAT(said({"gemm", "--amax", "yes", "--waves", "2x2"}), Contains("along M only"));
  CHECK_THAT(said({"gemm", "--dtype", "fp4", "--arch", "gfx950", "--layout", "nn"}), Contains("4 bits"));
  CHECK_THAT(said({"gemm", "--dtype", "mxfp8", "--arch", "gfx950", "--layout", "nn"}),
             Contains("scales of 32 k"));
  CHECK_THAT(said({"gemm", "--dtype", "mxfp8", "--arch", "gfx942"}),
             Contains("gfx950: gfx942 has no matrix instruction for scales of 32 k"));
  CHECK_THAT(said({"gemm", "--dtype", "mxfp6", "--arch", "gfx942"}),
             Contains("gfx950: gfx942 has no matrix instruction for 6-bit elements"));
  CHECK_THAT(said({"gemm", "--dtype", "mxi8", "--arch", "gfx950"}),
             Contains("in = i8") && Contains("with scales of 32 k: e4m3fn or e5m2") &&
                 Contains("e2m1, e2m3, e3m2"));
  CHECK_THAT(said({"gemm", "--dtype", "mxbf6", "--arch", "gfx950", "--layout", "tn"}), Contains("6 bits"));
  CHECK_THAT(said({"gemm", "--dtype", "mxf16", "--arch", "gfx950"}),
             Contains("with scales of 32 k: e4m3fn or e5m2"));
  CHECK_THAT(said({"gemm", "--dtype", "xf32", "--arch", "gfx950"}),
             Contains("in = xf32") && Contains("f32 on gfx950, which has no xf32: gfx942 alone"));
  CHECK_THAT(said({"gemm", "--dtype", "f64", "--split", "64"}), Contains("f64 is not added by atomics"));
  CHECK_THAT(said({"gemm", "--dtype", "f64", "--activation", "silu"}), Contains("relu: no instruction"));
  CHECK_THAT(said({"gemm", "--dtype", "f64", "--out", "f32"}),
             Contains("out = f32") && Contains("hint   f64"));
  CHECK_THAT(said({"gemm", "--dtype", "f64", "--amax", "yes"}), Contains("without f64"));
  CHECK_THAT(said({"gemm", "--dtype", "f64", "--mfma", "32"}), Contains("16 rows: f64 has no other"));
  CHECK_THAT(said({"gemm", "--dtype", "f64", "--direct-to-lds", "yes", "--arch", "gfx942"}),
             Contains("half of an f64"));
  CHECK_THAT(said({"preshuffle_gemm", "--dtype", "f32"}), Contains("16, 8 or 4 bits"));
  CHECK_THAT(said({"swap_axes", "--d", "96"}), Contains("--d 96") && Contains("power of two"));
  CHECK_THAT(said({"gemv", "--m", "8", "--rows", "32", "--vectors", "8"}), Contains("at most 256"));
  CHECK_THAT(said({"flash_attention", "--window", "64"}),
             Contains("--window 64 with --queries 200 and --keys 300") &&
                 Contains("as many keys as queries"));
  CHECK_THAT(said({"flash_attention", "--window", "64", "--keys", "200", "--tile-q", "128"}),
             Contains("window = 64 with tile_q = 128") && Contains("no more than the window"));
  CHECK_THAT(said({"flash_attention", "--window", "9", "--keys", "200"}),
             Contains("a window of at least 32 keys"));
  CHECK_THAT(said({"varlen_attention", "--page", "128"}), Contains("--page 128 with --tile-k 64"));
  CHECK_THAT(said({"varlen_attention", "--tile-q", "48"}), Contains("--tile-q 48 with --waves 4"));
  CHECK_THAT(said({"varlen_attention", "--kv-dtype", "f16"}), Contains("--kv-dtype f16 with --dtype bf16"));
  CHECK_THAT(said({"varlen_attention", "--dtype", "f32"}), Contains("--dtype f32"));
  CHECK_THAT(said({"varlen_attention", "--head-dim", "80"}), Contains("--head-dim 80"));
  CHECK_THAT(said({"varlen_attention", "--causal", "no", "--window", "9"}),
             Contains("--causal no with --window"));
  CHECK_THAT(said({"varlen_attention", "--bias", "yes", "--window", "9"}),
             Contains("--bias yes with --window"));
  CHECK_THAT(said({"varlen_attention", "--soft-cap", "-1"}), Contains("--soft-cap -1"));
  CHECK_THAT(said({"moe_stage1", "--scales", "row"}), Contains("--scales row with --dtype bf16"));
  CHECK_THAT(said({"moe_stage2", "--dtype", "i8", "--scales", "block"}), Contains("row: the sums of i8"));
  CHECK_THAT(said({"moe_stage1", "--dtype", "fp8", "--scales", "no"}), Contains("8 bits need them"));
  CHECK_THAT(said({"moe_stage1", "--dtype", "fp8", "--scales", "block", "--k", "144"}),
             Contains("multiple of 128"));
  CHECK_THAT(said({"moe_stage1", "--group", "48"}), Contains("--group 48"));
  CHECK_THAT(said({"moe_stage1", "--group", "32", "--tile-m", "32"}),
             Contains("--group 32") && Contains("--tile-m 64 or more"));
  CHECK_THAT(said({"moe_stage2", "--group", "64", "--dtype", "fp8"}), Contains("0 with --dtype"));
  CHECK_THAT(said({"moe_stage1", "--group", "64", "--k", "96"}), Contains("64"));
  CHECK_THAT(said({"moe_stage1", "--dtype", "fp4"}), Contains("--dtype fp4 on gfx942"));
  CHECK_THAT(said({"moe_stage2", "--arch", "gfx950", "--dtype", "fp4", "--scales", "row"}),
             Contains("fp4 with mx") || Contains("e2m1 with --scales row"));
  CHECK_THAT(said({"moe_stage1", "--scales", "mx"}), Contains("--scales mx with --dtype bf16"));
  CHECK_THAT(said({"moe_stage1", "--arch", "gfx950", "--dtype", "fp4", "--k", "128"}), Contains("256"));
  CHECK_THAT(said({"moe_stage1", "--arch", "gfx950", "--dtype", "fp4", "--tile-m", "16"}),
             Contains("a multiple of 32"));
  CHECK_THAT(said({"conv2d", "--dtype", "fp8", "--c", "24"}), Contains("a multiple of 16"));
  CHECK_THAT(said({"gated_delta_step", "--heads", "3"}), Contains("no multiple of --group 2"));
  CHECK_THAT(said({"gated_delta_step", "--key", "48"}), Contains("32, 64, 128 or 256"));
  CHECK_THAT(said({"gated_delta_step", "--columns", "256"}), Contains("at most the values"));
  CHECK_THAT(said({"gated_delta_step", "--threads", "64", "--columns", "128"}),
             Contains("at most 128 elements of the state"));
  CHECK_THAT(said({"gated_delta_keys", "--key", "96"}), Contains("--key 96") && Contains("64 or 128"));
  CHECK_THAT(said({"gated_delta_keys", "--dtype", "f32"}),
             Contains("--dtype f32") && Contains("bf16 or f16"));
  CHECK_THAT(said({"gated_delta_inverse", "--heads", "3"}), Contains("no multiple of --group 2"));
  CHECK_THAT(said({"gated_delta_inverse", "--tokens", "0"}), Contains("--tokens '0'"));
  CHECK_THAT(said({"gated_delta_rows", "--value", "32"}), Contains("--value 32") && Contains("64 or 128"));
  CHECK_THAT(said({"gated_delta_state", "--columns", "48"}), Contains("--columns 48"));
  CHECK_THAT(said({"gated_delta_state", "--tokens", "64"}), Contains("unknown option '--tokens'"));
  CHECK_THAT(said({"gated_delta_state", "--chunks", "9"}), Contains("--chunks '9'"));
  CHECK_THAT(said({"gated_delta_state", "--heads", "256", "--columns", "64"}), Contains("heads"));
  CHECK_THAT(said({"gated_delta_out", "--key", "256"}), Contains("--key 256"));
  CHECK_THAT(said({"causal_conv1d_update", "--d", "12"}), Contains("8"));
  CHECK_THAT(said({"grouped_gemm", "--dtype", "f32"}), Contains("--dtype f32"));
  CHECK_THAT(said({"grouped_gemm", "--tile-m", "48"}), Contains("--tile-m 48"));
  CHECK_THAT(said({"grouped_gemm", "--dtype", "fp8", "--scales", "block", "--k", "200"}),
             Contains("k = 200"));
  CHECK_THAT(said({"moe_combine", "--vector", "3"}), Contains("--vector 3"));
  CHECK_THAT(said({"conv3d", "--t", "9"}), Contains("conv3d: 9 taps, 1 apart, do not fit into --d 6"));
  CHECK_THAT(said({"conv2d", "--r", "15", "--pad", "0"}), Contains("do not fit into --h 14 with 0"));
  CHECK_THAT(said({"paged_decode", "--page", "48"}), Contains("--page 48 with --tile-k 32"));
  CHECK_THAT(said({"paged_decode", "--kv-dtype", "f16"}), Contains("fp8 with scales"));
  CHECK_THAT(said({"paged_decode", "--split", "80"}), Contains("--split 80 with --tile-k 32"));
  CHECK_THAT(said({"paged_decode", "--window", "500"}), Contains("keys = 512") && Contains("640 to"));
  CHECK_THAT(said({"paged_decode", "--soft-cap", "-1"}), Contains("--soft-cap -1"));
  CHECK_THAT(said({"mla_decode", "--heads", "96"}), Contains("--heads 96 with --waves 4"));
  CHECK_THAT(said({"mla_decode", "--page", "48"}), Contains("--page 48") && Contains("32 or 64"));
  CHECK_THAT(said({"mla_decode", "--page", "64", "--split", "96"}), Contains("--split 96 with --page 64"));
  CHECK_THAT(said({"mla_decode", "--split", "80"}), Contains("--split 80"));
  CHECK_THAT(said({"mla_decode", "--kv-dtype", "f16"}), Contains("fp8 with a scale"));
  CHECK_THAT(said({"mla_reduce", "--waves", "3"}), Contains("--waves 3") && Contains("2 or 4"));
  CHECK_THAT(said({"attention_backward_dq", "--head-dim", "96"}), Contains("--head-dim 96"));
  CHECK_THAT(said({"attention_backward_dkv", "--group", "3", "--heads", "6"}),
             Contains("--group 3") && Contains("whole groups"));
  CHECK_THAT(said({"attention_backward_dkv", "--group", "4", "--heads", "6"}), Contains("--heads 6"));
  CHECK_THAT(said({"attention_backward_dq", "--tile", "48"}), Contains("--tile 48 with --waves 4"));
  CHECK_THAT(said({"kv_write", "--kv-dtype", "f16"}), Contains("fp8 with scales"));
  CHECK_THAT(said({"moe_starts", "--block", "48"}), Contains("--block 48") && Contains("16, 32, 64"));
  CHECK_THAT(said({"moe_sort", "--n", "65"}), Contains("multiple of 64"));
  CHECK_THAT(said({"kv_write", "--head-dim", "96"}), Contains("--head-dim 96") && Contains("64, 128"));
  CHECK_THAT(said({"transpose", "--m", "7", "--n", "8"}), Contains("multiple of 8"));
  CHECK_THAT(said({"batched_gemm", "--tile", "65"}), Contains("32, 64 or 128"));
  CHECK_THAT(said({"batched_gemm", "--pad-a", "7"}), Contains("pad_a = 7 is not a multiple of 8"));
  CHECK_THAT(said({"batched_gemm", "--gap-c", "2"}), Contains("gap_c = 2 is not a multiple of 4"));
  CHECK_THAT(said({"batched_gemm", "--gap-x", "-8"}), Contains("--gap-x '-8' is neither no nor a number"));
  CHECK_THAT(said({"cross_entropy", "--n", "100000"}), Contains("n"));
  for (const char* p : {"1", "-0.1", "nan", "x"})
    CHECK_THAT(said({"dropout", "--p", p}), Contains("is not a number"));
}

} // namespace catalogue_test
