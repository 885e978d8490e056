// The course's vocabulary on a GPU. fa/device.h tells what each word is.

#pragma once

#include "cuda/buffer.h"
#include "cuda/hbm.h"
#include "cuda/launch.h"
#include "cuda/meter.h"
#include "cuda/shared.h"
#include "cuda/timer.h"
#include "fa/device_error.h"
#include "fa/device_info.h"
#include "fa/device_scratch.h"
#include "fa/todo.h"
