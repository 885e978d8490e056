// FA_HOST_DEVICE: before a function that nvcc shall compile for the CPU and for the GPU. For other compilers, nothing.

#pragma once

#ifdef __CUDACC__
#define FA_HOST_DEVICE __host__ __device__
#else
#define FA_HOST_DEVICE
#endif
