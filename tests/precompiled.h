// Headers that most tests include (see src/precompiled.h).

#include <gtest/gtest.h>

#include "src/precompiled.h"
