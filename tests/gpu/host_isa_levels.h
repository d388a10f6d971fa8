// Runs a test at every instruction set level that this processor supports (base/host_isa.h).
#ifndef HLO_TESTS_GPU_HOST_ISA_LEVELS_H_
#define HLO_TESTS_GPU_HOST_ISA_LEVELS_H_

#include <gtest/gtest.h>

#include "base/host_isa.h"

namespace hlo {

template <class Body>
void AtEveryHostIsa(Body body) {
  const HostIsa before = ChosenHostIsa();
  for (const HostIsa isa : HostIsaLevels()) {
    const std::string_view name = kHostIsaNames[static_cast<size_t>(isa)];
    SCOPED_TRACE(testing::Message() << "--host_isa=" << name);
    ASSERT_TRUE(ChooseHostIsa(name));
    body();
  }
  ASSERT_TRUE(ChooseHostIsa(kHostIsaNames[static_cast<size_t>(before)]));
}

}  // namespace hlo

#endif  // HLO_TESTS_GPU_HOST_ISA_LEVELS_H_
