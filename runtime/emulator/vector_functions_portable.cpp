// Vector arithmetic compiled for portable; the flags are in runtime/CMakeLists.txt.
#define INLAY_TABLE vector_table_portable
#define INLAY_ROWS row_functions_portable
#include "vector_functions.ipp"
