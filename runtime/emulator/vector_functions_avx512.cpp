// Vector arithmetic compiled for avx512; the flags are in runtime/CMakeLists.txt.
#define INLAY_TABLE vector_table_avx512
#define INLAY_ROWS row_functions_avx512
#include "vector_functions.ipp"
