#pragma once

#ifdef FA_CUDA
#include "cuda/tensor_core.h"  // IWYU pragma: export
#else
#include "simt/tensor_core.h"  // IWYU pragma: export
#endif
