// The pool of payload memory: what it hands out, in which order, and what stops it.
#include "engine/io/piece_pool.h"

#include <sys/resource.h>

#include <set>

#include "engine/base/units.h"
#include "tests/unit/io/device_fixture.h"

namespace cairn::io {
namespace {

using testing::run_on_context;

struct PiecePoolTest : ::testing::Test {
  boost::asio::io_context context;
};

TEST_F(PiecePoolTest, CutsAlignedWritableMemoryIntoPiecesThatDoNotOverlap) {
  const auto pool = PiecePool::make(context.get_executor(), 5).value();
  auto body = [&]() -> Task<int> {
    std::vector<Piece> pieces;
    std::set<const std::byte*> seen;
    for (int i = 0; i < 5; ++i) {
      pieces.push_back(co_await pool->acquire());
      const MutableBytes memory = pieces.back().memory();
      EXPECT_EQ(memory.size(), kPieceBytes);
      EXPECT_TRUE(is_aligned(reinterpret_cast<std::uintptr_t>(memory.data()), kPieceBytes));
      EXPECT_GE(memory.data(), pool->memory().data());
      EXPECT_LE(memory.data() + memory.size(), pool->memory().data() + pool->memory().size());
      EXPECT_TRUE(seen.insert(memory.data()).second);
      testing::fill_pattern(memory, static_cast<std::uint64_t>(i));
    }
    EXPECT_EQ(pool->free_pieces(), 0U);
    for (int i = 0; i < 5; ++i) {
      const auto at = static_cast<std::size_t>(i);
      EXPECT_TRUE(testing::has_pattern(pieces[at].memory(), at));
    }
    co_return 0;
  };
  run_on_context(context, body());
  EXPECT_EQ(pool->free_pieces(), 5U);
  EXPECT_EQ(pool->memory().size(), 5 * kPieceBytes);
}

TEST_F(PiecePoolTest, LetsWritersWaitInTheOrderTheyCame) {
  const auto pool = PiecePool::make(context.get_executor(), 1).value();
  std::vector<int> order;
  auto writer = [&](int number) -> Task<void> {
    const Piece piece = co_await pool->acquire();
    order.push_back(number);
  };
  auto body = [&]() -> Task<int> {
    Piece held = co_await pool->acquire();
    for (int i = 0; i < 4; ++i) {
      boost::asio::co_spawn(context, writer(i), [](std::exception_ptr) {});
    }
    co_return 0;
  };
  run_on_context(context, body());
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(pool->free_pieces(), 1U);
}

TEST_F(PiecePoolTest, GivesAPieceBackOnceWhenItIsMoved) {
  const auto pool = PiecePool::make(context.get_executor(), 2).value();
  auto body = [&]() -> Task<int> {
    Piece first = co_await pool->acquire();
    Piece second = std::move(first);
    EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): what the test is about
    EXPECT_EQ(pool->free_pieces(), 1U);
    second = co_await pool->acquire();
    EXPECT_EQ(pool->free_pieces(), 1U);
    second = Piece();
    EXPECT_EQ(pool->free_pieces(), 2U);
    co_return 0;
  };
  run_on_context(context, body());
}

TEST_F(PiecePoolTest, RefusesNoPiecesAndMoreMemoryThanThereIs) {
  EXPECT_EQ(PiecePool::make(context.get_executor(), 0).error().code(), Code::kInvalid);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they need the address space
  const int status = testing::in_child([&] {
    const rlimit limit{64 * kMiB, 64 * kMiB};
    ASSERT_EQ(::setrlimit(RLIMIT_AS, &limit), 0);
    const auto pool = PiecePool::make(context.get_executor(), 256);
    ASSERT_FALSE(pool.has_value());
    EXPECT_EQ(pool.error().code(), Code::kUnavailable);
  });
  EXPECT_EQ(status, 0);
#endif
}

TEST_F(PiecePoolTest, IsInHugePagesWhereTheSystemGivesThem) {
  const auto pool = PiecePool::make(context.get_executor(), 8).value();
  if (!pool->huge_pages()) GTEST_SKIP() << "no huge pages to be had on this system now";
  EXPECT_TRUE(is_aligned(reinterpret_cast<std::uintptr_t>(pool->memory().data()), 2 * kMiB));
}

}  // namespace
}  // namespace cairn::io
