// Tests that blocks of all sizes are allocated and freed without two blocks in use sharing memory.
#include "base/array_memory.h"

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "gtest/gtest.h"

namespace hlo {
namespace {

struct Block {
  std::span<uint64_t> words;
  uint64_t mark;
};

constexpr int64_t kWordsOfAPage = 512;

Block Take(int64_t bytes, uint64_t mark) {
  auto* const words = static_cast<uint64_t*>(AllocateArray(bytes, 64));
  EXPECT_NE(words, nullptr);
  Block block{.words = {words, static_cast<size_t>(bytes / 8)}, .mark = mark};
  for (size_t i = 0; i < block.words.size(); i += kWordsOfAPage) block.words[i] = mark + i;
  block.words.back() = mark;
  return block;
}

void GiveBack(const Block& block) {
  ASSERT_EQ(block.words.back(), block.mark);
  for (size_t i = 0; i + kWordsOfAPage < block.words.size(); i += kWordsOfAPage)
    ASSERT_EQ(block.words[i], block.mark + i);
  FreeArray(block.words.data());
}

TEST(ArrayMemory, BlocksInUseDoNotOverlap) {
  std::mt19937_64 random(20);
  std::vector<Block> blocks;
  for (uint64_t mark = 1; mark < 3000; ++mark) {
    // Sizes from 64 KiB to 64 MiB, equally many in each octave.
    const int64_t bytes = (int64_t{1} << (16 + random() % 10)) + random() % 65536 / 8 * 8;
    blocks.push_back(Take(bytes, mark << 40));
    while (blocks.size() > 24 || random() % 2 == 0) {
      if (blocks.empty()) break;
      std::swap(blocks[random() % blocks.size()], blocks.back());
      GiveBack(blocks.back());
      blocks.pop_back();
    }
  }
  for (const Block& block : blocks) GiveBack(block);
}

TEST(ArrayMemory, ALargerBlockReusesThePagesOfSmallerOnes) {
  constexpr int64_t kMiB = 1 << 20;
  for (int round = 0; round < 50; ++round) {
    const std::vector<Block> small{Take(8 * kMiB, 1), Take(6 * kMiB, 2), Take(20 * kMiB, 3), Take(4 * kMiB, 4)};
    GiveBack(small[0]);
    GiveBack(small[2]);
    const Block large = Take(28 * kMiB, 5);
    GiveBack(small[1]);
    GiveBack(large);
    GiveBack(small[3]);
  }
}

TEST(ArrayMemory, ReturnsNullIfTheSizeIsTooLarge) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer ends the process";
#endif
  EXPECT_EQ(AllocateArray(int64_t{1} << 62, 64), nullptr);
}

}  // namespace
}  // namespace hlo
