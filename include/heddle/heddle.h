/* heddle/heddle.h -- all of the public API. */
#ifndef HEDDLE_HEDDLE_H
#define HEDDLE_HEDDLE_H

#include "heddle/array.h"
#include "heddle/builder.h"
#include "heddle/cache.h"
#include "heddle/context.h"
#include "heddle/device.h"
#include "heddle/event.h"
#include "heddle/graph.h"
#include "heddle/image.h"
#include "heddle/launch.h"
#include "heddle/module.h"
#include "heddle/status.h"
#include "heddle/stream.h"
#include "heddle/types.h"

#endif
