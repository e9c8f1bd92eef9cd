# The arithmetic of vector instructions is compiled once for each instruction set and chosen at run time. No contraction:
# where the ISA rounds twice, so must we.
set(vector_options -O3 -fno-trapping-math -fno-math-errno -ffp-contract=off)
set_source_files_properties(emulator/vector_functions_portable.cpp PROPERTIES COMPILE_OPTIONS "${vector_options}")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_source_files_properties(emulator/vector_functions_avx2.cpp PROPERTIES
    COMPILE_OPTIONS "${vector_options};-mavx2;-mfma;-mf16c")
  # gcc 12's own headers of AVX-512 read registers that they leave undefined on purpose (GCC bug 105593).
  set_source_files_properties(emulator/vector_functions_avx512.cpp PROPERTIES
    COMPILE_OPTIONS "${vector_options};-Wno-uninitialized;-mavx2;-mfma;-mf16c;-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mprefer-vector-width=512")
endif()
set_source_files_properties(emulator/atomics.cpp PROPERTIES COMPILE_OPTIONS "${vector_options}")
