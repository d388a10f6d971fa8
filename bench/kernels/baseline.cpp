// What a careful person gets by hand on this machine: the four kernels of the .hlo files beside this one, written with
// AVX-512 intrinsics (AVX2 and FMA where there is no AVX-512) on pinned threads, and the memory speed that bounds them.
//
//   g++ -std=c++17 -O3 -march=native -pthread baseline.cpp -o baseline && ./baseline --threads 2
//
// Each kernel has one or more variants; all are checked against plain loops and timed, and bench/kernels.py takes the
// best. GB/s counts the bytes that must move: every input read once, every output written once, as do the .hlo files'
// figures. Arrays of 256 MiB stay clear of the cache; huge pages keep the page table out of the picture.
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int64_t kRows = 16384, kColumns = 4096, kElements = kRows * kColumns;

// ---- One vector type, as wide as the machine has --------------------------------------------------------------------

#ifdef __AVX512F__
using Vec = __m512;
constexpr int64_t kLanes = 16;
constexpr const char* kInstructions = "avx512";
Vec Splat(float x) { return _mm512_set1_ps(x); }
Vec Load(const float* p) { return _mm512_loadu_ps(p); }
void Store(float* p, Vec x) { _mm512_storeu_ps(p, x); }
void Stream(float* p, Vec x) { _mm512_stream_ps(p, x); }
Vec Add(Vec a, Vec b) { return _mm512_add_ps(a, b); }
Vec Subtract(Vec a, Vec b) { return _mm512_sub_ps(a, b); }
Vec Multiply(Vec a, Vec b) { return _mm512_mul_ps(a, b); }
Vec RoughReciprocal(Vec x) { return _mm512_rcp14_ps(x); }
Vec MultiplyAdd(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
Vec NegativeMultiplyAdd(Vec a, Vec b, Vec c) { return _mm512_fnmadd_ps(a, b, c); }
Vec Clamp(Vec x, float low, float high) { return _mm512_min_ps(_mm512_max_ps(x, Splat(low)), Splat(high)); }
Vec Round(Vec x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
Vec TimesPowerOfTwo(Vec x, Vec n) { return _mm512_scalef_ps(x, n); }
#else
using Vec = __m256;
constexpr int64_t kLanes = 8;
constexpr const char* kInstructions = "avx2";
Vec Splat(float x) { return _mm256_set1_ps(x); }
Vec Load(const float* p) { return _mm256_loadu_ps(p); }
void Store(float* p, Vec x) { _mm256_storeu_ps(p, x); }
void Stream(float* p, Vec x) { _mm256_stream_ps(p, x); }
Vec Add(Vec a, Vec b) { return _mm256_add_ps(a, b); }
Vec Subtract(Vec a, Vec b) { return _mm256_sub_ps(a, b); }
Vec Multiply(Vec a, Vec b) { return _mm256_mul_ps(a, b); }
Vec RoughReciprocal(Vec x) { return _mm256_rcp_ps(x); }
Vec MultiplyAdd(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
Vec NegativeMultiplyAdd(Vec a, Vec b, Vec c) { return _mm256_fnmadd_ps(a, b, c); }
Vec Clamp(Vec x, float low, float high) { return _mm256_min_ps(_mm256_max_ps(x, Splat(low)), Splat(high)); }
Vec Round(Vec x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
// Adds n to the exponent: right while x and the result are normal, which the caller's clamp sees to.
Vec TimesPowerOfTwo(Vec x, Vec n) {
  return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(x), _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23)));
}
#endif

float Sum(Vec x) {
  float lanes[kLanes], sum = 0;
  Store(lanes, x);
  for (const float lane : lanes) sum += lane;
  return sum;
}

// ---- Threads
// ----------------------------------------------------------------------------------------------------------

// Threads that wait at a barrier for the next piece of work; the caller is thread 0. All are pinned, one to a core.
class Team {
 public:
  explicit Team(int threads) : threads_(threads) {
    pthread_barrier_init(&barrier_, nullptr, threads);
    cpu_set_t allowed;
    sched_getaffinity(0, sizeof allowed, &allowed);
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &allowed)) cores_.push_back(core);
    }
    Pin(0);
    for (int thread = 1; thread < threads; ++thread) {
      members_.emplace_back([this, thread] {
        Pin(thread);
        while (true) {
          pthread_barrier_wait(&barrier_);
          if (!work_) return;
          work_(thread);
          pthread_barrier_wait(&barrier_);
        }
      });
    }
  }

  ~Team() {
    work_ = nullptr;
    pthread_barrier_wait(&barrier_);
    for (std::thread& member : members_) member.join();
  }

  // Calls work(begin, end) on every thread with its share of [0, count), cut at multiples of `unit`.
  void Share(int64_t count, int64_t unit, const std::function<void(int64_t, int64_t)>& work) {
    work_ = [&](int thread) {
      const int64_t units = count / unit;
      work(units * thread / threads_ * unit, units * (thread + 1) / threads_ * unit);
    };
    pthread_barrier_wait(&barrier_);
    work_(0);
    pthread_barrier_wait(&barrier_);
  }

 private:
  void Pin(int thread) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cores_[thread % cores_.size()], &one);
    sched_setaffinity(0, sizeof one, &one);
  }

  int threads_;
  pthread_barrier_t barrier_;
  std::vector<int> cores_;
  std::vector<std::thread> members_;
  std::function<void(int)> work_;
};

// ---- Kernels
// ------------------------------------------------------------------------------------------------------------

void CopyStream(Team& team, const float* in, float* out) {
  team.Share(kElements, kLanes, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += kLanes) Stream(out + i, Load(in + i));
  });
}

void CopyMemcpy(Team& team, const float* in, float* out) {
  team.Share(kElements, kLanes,
             [=](int64_t begin, int64_t end) { std::memcpy(out + begin, in + begin, (end - begin) * sizeof(float)); });
}

// exp(x) = 2^n * 2^f with n the nearest integer to x * log2(e), so |f| <= 1/2. The polynomial is the Taylor series of
// 2^f; its first missing term is (ln2 / 2)^7 / 7! = 1.2e-7, half an ulp at the ends.
Vec Exp(Vec x) {
  const Vec power = Multiply(x, Splat(1.44269504f));
  const Vec whole = Round(power);
  const Vec f = Subtract(power, whole);
  Vec sum = Splat(1.54035304e-4f);
  for (const float coefficient :
       {1.33335581e-3f, 9.61812911e-3f, 5.55041087e-2f, 2.40226507e-1f, 6.93147181e-1f, 1.0f}) {
    sum = MultiplyAdd(sum, f, Splat(coefficient));
  }
  return TimesPowerOfTwo(sum, whole);
}

// The hardware's 12 or 14 bits and one Newton step: within an ulp or two, and half the time of a division.
Vec Reciprocal(Vec x) {
  const Vec rough = RoughReciprocal(x);
  return MultiplyAdd(rough, NegativeMultiplyAdd(x, rough, Splat(1)), rough);
}

// tanh(u) = 1 - 2 / (exp(2u) + 1), and is 1 in f32 beyond 10. Small u lose relative accuracy, which the caller's
// 1 + tanh(u) does not see.
Vec Gelu(Vec x) {
  const Vec cube = Multiply(Multiply(x, x), x);
  const Vec u = Multiply(Splat(0.797884583f), MultiplyAdd(cube, Splat(0.044715f), x));
  const Vec e = Exp(Multiply(Clamp(u, -10, 10), Splat(2)));
  const Vec tanh = NegativeMultiplyAdd(Splat(2), Reciprocal(Add(e, Splat(1))), Splat(1));
  return Multiply(Multiply(Splat(0.5f), x), Add(Splat(1), tanh));
}

template <void (*kStore)(float*, Vec)>
void ElementwiseChain(Team& team, const float* in, float* out) {
  team.Share(kElements, 2 * kLanes, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += 2 * kLanes) {
      kStore(out + i, Gelu(Load(in + i)));
      kStore(out + i + kLanes, Gelu(Load(in + i + kLanes)));
    }
  });
}

// Eight sums hide the latency of the addition. `kAtOnce` rows at a time give the prefetcher as many streams.
template <int kAtOnce>
void RowReduce(Team& team, const float* in, float* out) {
  team.Share(kRows, kAtOnce, [=](int64_t begin, int64_t end) {
    constexpr int kPerRow = 8 / kAtOnce;
    for (int64_t row = begin; row < end; row += kAtOnce) {
      Vec sums[kAtOnce][kPerRow];
      for (auto& of_row : sums) {
        for (Vec& sum : of_row) sum = Splat(0);
      }
      for (int64_t column = 0; column < kColumns; column += kPerRow * kLanes) {
        for (int r = 0; r < kAtOnce; ++r) {
          for (int k = 0; k < kPerRow; ++k) {
            sums[r][k] = Add(sums[r][k], Load(in + (row + r) * kColumns + column + k * kLanes));
          }
        }
      }
      for (int r = 0; r < kAtOnce; ++r) {
        for (int k = 1; k < kPerRow; ++k) sums[r][0] = Add(sums[r][0], sums[r][k]);
        out[row + r] = Sum(sums[r][0]);
      }
    }
  });
}

// Each thread adds its rows into sums of its own, `kAtOnce` rows for one pass over the sums, which stay in the L1
// cache.
template <int kAtOnce>
void ColumnReduce(Team& team, const float* in, float* out) {
  std::fill(out, out + kColumns, 0.f);
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  team.Share(kRows, kAtOnce, [=](int64_t begin, int64_t end) {
    alignas(64) float sums[kColumns] = {};
    for (int64_t row = begin; row < end; row += kAtOnce) {
      for (int64_t column = 0; column < kColumns; column += kLanes) {
        const float* from = in + row * kColumns + column;
        Vec sum = Load(from);
        for (int r = 1; r < kAtOnce; ++r) sum = Add(sum, Load(from + r * kColumns));
        Store(sums + column, Add(Load(sums + column), sum));
      }
    }
    pthread_mutex_lock(&mutex);
    for (int64_t column = 0; column < kColumns; column += kLanes) {
      Store(out + column, Add(Load(out + column), Load(sums + column)));
    }
    pthread_mutex_unlock(&mutex);
  });
}

// Turns a tile of kLanes x kLanes in registers: lanes are exchanged at distance 1, 2, 4 (and 8). A row of the turned
// tile is a whole cache line with AVX-512, and goes past the cache; with AVX2 it is half a line and must not.
#ifdef __AVX512F__
void TransposeTile(const float* in, float* out) {
  __m512 a[16], b[16];
  for (int i = 0; i < 16; ++i) a[i] = _mm512_loadu_ps(in + i * kColumns);
  for (int i = 0; i < 16; i += 2) {
    b[i] = _mm512_unpacklo_ps(a[i], a[i + 1]);
    b[i + 1] = _mm512_unpackhi_ps(a[i], a[i + 1]);
  }
  const auto low = [](__m512 x, __m512 y) {
    return _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(x), _mm512_castps_pd(y)));
  };
  const auto high = [](__m512 x, __m512 y) {
    return _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(x), _mm512_castps_pd(y)));
  };
  for (int i = 0; i < 16; i += 4) {
    a[i] = low(b[i], b[i + 2]);
    a[i + 1] = high(b[i], b[i + 2]);
    a[i + 2] = low(b[i + 1], b[i + 3]);
    a[i + 3] = high(b[i + 1], b[i + 3]);
  }
  // Now a[4q + j] holds, in its 128-bit part p, column 4p + j of rows 4q to 4q + 3.
  for (int j = 0; j < 4; ++j) {
    b[j] = _mm512_shuffle_f32x4(a[j], a[4 + j], 0x88);
    b[4 + j] = _mm512_shuffle_f32x4(a[j], a[4 + j], 0xdd);
    b[8 + j] = _mm512_shuffle_f32x4(a[8 + j], a[12 + j], 0x88);
    b[12 + j] = _mm512_shuffle_f32x4(a[8 + j], a[12 + j], 0xdd);
  }
  for (int j = 0; j < 4; ++j) {
    _mm512_stream_ps(out + j * kRows, _mm512_shuffle_f32x4(b[j], b[8 + j], 0x88));
    _mm512_stream_ps(out + (4 + j) * kRows, _mm512_shuffle_f32x4(b[4 + j], b[12 + j], 0x88));
    _mm512_stream_ps(out + (8 + j) * kRows, _mm512_shuffle_f32x4(b[j], b[8 + j], 0xdd));
    _mm512_stream_ps(out + (12 + j) * kRows, _mm512_shuffle_f32x4(b[4 + j], b[12 + j], 0xdd));
  }
}
#else
void TransposeTile(const float* in, float* out) {
  __m256 a[8], b[8];
  for (int i = 0; i < 8; ++i) a[i] = _mm256_loadu_ps(in + i * kColumns);
  for (int i = 0; i < 8; i += 2) {
    b[i] = _mm256_unpacklo_ps(a[i], a[i + 1]);
    b[i + 1] = _mm256_unpackhi_ps(a[i], a[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    a[i] = _mm256_shuffle_ps(b[i], b[i + 2], 0x44);
    a[i + 1] = _mm256_shuffle_ps(b[i], b[i + 2], 0xee);
    a[i + 2] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0x44);
    a[i + 3] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0xee);
  }
  for (int j = 0; j < 4; ++j) {
    _mm256_storeu_ps(out + j * kRows, _mm256_permute2f128_ps(a[j], a[4 + j], 0x20));
    _mm256_storeu_ps(out + (4 + j) * kRows, _mm256_permute2f128_ps(a[j], a[4 + j], 0x31));
  }
}
#endif

// Blocks of kBlockRows x kBlockColumns of the input: the rows are long enough to be worth fetching ahead, and the
// block's pages, in and out, stay in the translation buffer.
template <int64_t kBlockRows, int64_t kBlockColumns>
void Transpose(Team& team, const float* in, float* out) {
  constexpr int64_t kBlocksAcross = kColumns / kBlockColumns;
  team.Share(kRows / kBlockRows * kBlocksAcross, 1, [=](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t top = block / kBlocksAcross * kBlockRows, left = block % kBlocksAcross * kBlockColumns;
      for (int64_t column = left; column < left + kBlockColumns; column += kLanes) {
        for (int64_t row = top; row < top + kBlockRows; row += kLanes) {
          TransposeTile(in + row * kColumns + column, out + column * kRows + row);
        }
      }
    }
  });
}

// ---- Checks against plain loops
// ---------------------------------------------------------------------------------------

// Largest |actual - expected|, over outputs spread evenly; `expected` takes the index of the output.
double WorstError(const float* out, int64_t size, const std::function<double(int64_t)>& expected) {
  double worst = 0;
  for (int64_t k = 0; k < 1000; ++k) {
    const int64_t i = k * 7919 * 13 % size;
    worst = std::max(worst, std::abs(out[i] - expected(i)));
  }
  return worst;
}

struct Kernel {
  const char* name;
  const char* variant;
  void (*run)(Team&, const float*, float*);
  int64_t outputs;
  std::function<double(int64_t)> expected;
  double tolerance;
};

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

float* Allocate(Team& team) {
  void* memory = mmap(nullptr, kElements * sizeof(float), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("mmap");
    std::exit(1);
  }
  madvise(memory, kElements * sizeof(float), MADV_HUGEPAGE);
  float* array = static_cast<float*>(memory);
  team.Share(kElements, 1, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) array[i] = float((uint64_t(i) * 0x9E3779B97F4A7C15u) >> 40) * 0x1p-23f - 1;
  });
  return array;
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 2;
  double seconds = 2;
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--json") {
      json = true;
    } else if (flag == "--threads" && i + 1 < argc) {
      threads = std::max(1, std::atoi(argv[++i]));
    } else if (flag == "--seconds" && i + 1 < argc) {
      seconds = std::atof(argv[++i]);
    } else {
      std::fprintf(stderr, "usage: baseline [--threads N] [--seconds OF_EACH_VARIANT] [--json]\n");
      return 2;
    }
  }

  Team team(threads);
  const float* in = Allocate(team);
  float* out = Allocate(team);

  const auto gelu = [=](int64_t i) {
    const double x = in[i];
    return 0.5 * x * (1 + std::tanh(0.797884583 * (x + 0.044715 * x * x * x)));
  };
  const auto row_sum = [=](int64_t row) {
    double sum = 0;
    for (int64_t column = 0; column < kColumns; ++column) sum += in[row * kColumns + column];
    return sum;
  };
  const auto column_sum = [=](int64_t column) {
    double sum = 0;
    for (int64_t row = 0; row < kRows; ++row) sum += in[row * kColumns + column];
    return sum;
  };
  const auto transposed = [=](int64_t i) { return double(in[i % kRows * kColumns + i / kRows]); };
  const auto same = [=](int64_t i) { return double(in[i]); };

  const Kernel kKernels[] = {
      {"copy", "stream", CopyStream, kElements, same, 0},
      {"copy", "memcpy", CopyMemcpy, kElements, same, 0},
      {"elementwise_chain", "store", ElementwiseChain<Store>, kElements, gelu, 1e-6},
      {"elementwise_chain", "stream", ElementwiseChain<Stream>, kElements, gelu, 1e-6},
      {"row_reduce", "1_row", RowReduce<1>, kRows, row_sum, 1e-3},
      {"row_reduce", "4_rows", RowReduce<4>, kRows, row_sum, 1e-3},
      {"column_reduce", "8_rows", ColumnReduce<8>, kColumns, column_sum, 1e-2},
      {"column_reduce", "16_rows", ColumnReduce<16>, kColumns, column_sum, 1e-2},
      {"transpose", "16x4096", Transpose<16, 4096>, kElements, transposed, 0},
      {"transpose", "32x4096", Transpose<32, 4096>, kElements, transposed, 0},
      {"transpose", "64x256", Transpose<64, 256>, kElements, transposed, 0},
      {"transpose", "64x64", Transpose<64, 64>, kElements, transposed, 0},
  };

  bool right = true;
  if (!json) std::printf("%s, %d threads, f32[%ld,%ld]\n", kInstructions, threads, long(kRows), long(kColumns));
  for (const Kernel& kernel : kKernels) {
    kernel.run(team, in, out);
    const double error = WorstError(out, kernel.outputs, kernel.expected);
    if (error > kernel.tolerance) {
      std::fprintf(stderr, "%s %s is wrong by %g\n", kernel.name, kernel.variant, error);
      right = false;
    }
    std::vector<double> times;
    for (const double begin = Now(); Now() - begin < seconds || times.size() < 3;) {
      const double start = Now();
      kernel.run(team, in, out);
      times.push_back(Now() - start);
    }
    std::sort(times.begin(), times.end());
    const double bytes = double(kElements + kernel.outputs) * sizeof(float);
    const double median = times[times.size() / 2];
    std::printf(
        json ? "{\"kernel\": \"%s\", \"variant\": \"%s\", \"threads\": %d, \"gb_per_s\": %.2f, \"median_ms\": %.3f, "
               "\"min_ms\": %.3f, \"runs\": %zu, \"error\": %.1e, \"instructions\": \"%s\"}\n"
             : "%-18s %-8s %3d threads %7.2f GB/s  median %8.3f ms  min %8.3f ms  %4zu runs  error %.1e  %s\n",
        kernel.name, kernel.variant, threads, bytes / median * 1e-9, median * 1e3, times[0] * 1e3, times.size(), error,
        kInstructions);
    std::fflush(stdout);
  }
  return right ? 0 : 1;
}
