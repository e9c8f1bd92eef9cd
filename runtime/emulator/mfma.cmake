# The inner loops are compiled once for each instruction set and chosen at run time. They are hot in every build type.
# Registers are words that hold floats: -fno-strict-aliasing says so to the compiler.
set(inlay_matrix_options -fno-strict-aliasing -fno-trapping-math)
set_source_files_properties(emulator/mfma.cpp emulator/mfma_cdna3.cpp PROPERTIES COMPILE_OPTIONS "${inlay_matrix_options}")
set_source_files_properties(emulator/mfma_kernels_portable.cpp PROPERTIES COMPILE_OPTIONS "-O3;${inlay_matrix_options}")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_source_files_properties(emulator/mfma_kernels_avx2.cpp PROPERTIES
    COMPILE_OPTIONS "-O3;${inlay_matrix_options};-mavx2;-mfma;-mf16c")
  set_source_files_properties(emulator/mfma_kernels_avx512.cpp PROPERTIES COMPILE_OPTIONS
    "-O3;${inlay_matrix_options};-mavx2;-mfma;-mf16c;-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mprefer-vector-width=512")
endif()
