// What a function takes from the heap: linked into every test binary, so that no working memory passes by fa::Scratch.

#pragma once

#include "fa/shape.h"

namespace fa {

// Counts the bytes that operator new hands out while it exists, given back or not.
class HeapMeter {
 public:
  HeapMeter();
  Index bytes() const;

 private:
  Index before_;
};

}  // namespace fa
