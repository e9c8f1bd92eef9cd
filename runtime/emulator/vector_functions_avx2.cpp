// Vector arithmetic compiled for avx2; the flags are in runtime/CMakeLists.txt.
#define INLAY_TABLE vector_table_avx2
#define INLAY_ROWS row_functions_avx2
#include "vector_functions.ipp"
