// Special functions as XLA computes them. Sources: Cephes (erfc, the Bessel function), M. Giles, "Approximating the
// erfinv function", C. Lanczos, "A precision approximation of the gamma function" (g = 7), and F. Johansson, "Rigorous
// high-precision computation of the Hurwitz zeta function" (formula 5).
#include <cmath>
#include <limits>
#include <numbers>

#include "parser/mlir/formula.h"

namespace hlo::mlir {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// A coefficient for a polynomial that is evaluated from the highest power on.
template <class Coefficient>
Expr Horner(const Expr& w, Expr sum, int first, int last, Coefficient&& coefficient) {
  for (int i = first; i < last; ++i) sum = coefficient(i) + sum * w;
  return sum;
}

}  // namespace

Expr Polynomial(const Expr& x, std::span<const double> coefficients) {
  Expr sum = coefficients[0] == 1 ? x + coefficients[1] : x.Constant(coefficients[0]);
  for (const double coefficient : coefficients.subspan(coefficients[0] == 1 ? 2 : 1)) sum = sum * x + coefficient;
  return sum;
}

// ---- The error function ------------------------------------------------------------------------------------------

namespace {

// erfc for |x| >= 1, of which `result` is an approximation for |x|.
Expr ErfcOfLarge(const Expr& x, const Expr& minus_square, const Expr& result, double max_log) {
  const Expr clamped = Select(minus_square < -max_log, x.Constant(0), result);
  return Select(x < 0, 2 - clamped, clamped);
}

Expr ErfcOfLargeF32(const Expr& x) {
  constexpr double kP[] = {2.326819970068386E-2f,  -1.387039388740657E-1f, 3.687424674597105E-1f,
                           -5.824733027278666E-1f, 6.210004621745983E-1f,  -4.944515323274145E-1f,
                           3.404879937665872E-1f,  -2.741127028184656E-1f, 5.638259427386472E-1f};
  constexpr double kR[] = {-1.047766399936249E+1f, 1.297719955372516E+1f,  -7.495518717768503E+0f,
                           2.921019019210786E+0f,  -1.015265279202700E+0f, 4.218463358204948E-1f,
                           -2.820767439740514E-1f, 5.641895067754075E-1f};
  const Expr square = x * x, z = -square, size = Abs(x);
  const Expr inverse = 1 / square, exp = Exp(z);
  const Expr scale = exp * (1 / size);
  const Expr result = scale * Select(size < 2, Polynomial(inverse, kP), Polynomial(inverse, kR));
  return ErfcOfLarge(x, z, result, 88.72283905206835);
}

Expr ErfcOfLargeF64(const Expr& x) {
  constexpr double kP[] = {2.46196981473530512524E-10, 5.64189564831068821977E-1, 7.46321056442269912687E0,
                           4.86371970985681366614E1,   1.96520832956077098242E2,  5.26445194995477358631E2,
                           9.34528527171957607540E2,   1.02755188689515710272E3,  5.57535335369399327526E2};
  constexpr double kQ[] = {1.0,
                           1.32281951154744992508E1,
                           8.67072140885989742329E1,
                           3.54937778887819891062E2,
                           9.75708501743205489753E2,
                           1.82390916687909736289E3,
                           2.24633760818710981792E3,
                           1.65666309194161350182E3,
                           5.57535340817727675546E2};
  constexpr double kR[] = {5.64189583547755073984E-1, 1.27536670759978104416E0, 5.01905042251180477414E0,
                           6.16021097993053585195E0,  7.40974269950448939160E0, 2.97886665372100240670E0};
  constexpr double kS[] = {1.0,
                           2.26052863220117276590E0,
                           9.39603524938001434673E0,
                           1.20489539808096656605E1,
                           1.70814450747565897222E1,
                           9.60896809063285878198E0,
                           3.36907645100081516050E0};
  const Expr z = -(x * x), exp = Exp(z), size = Abs(x);
  const Expr to_8 = exp * Polynomial(size, kP) / Polynomial(size, kQ);
  const Expr from_8 = exp * Polynomial(size, kR) / Polynomial(size, kS);
  return ErfcOfLarge(x, z, Select(size < 8, to_8, from_8), 7.09782712893383996843E2);
}

Expr ErfOfSmall(const Expr& x) {
  const Expr square = x * x;
  if (x.type() == PrimitiveType::kF32) {
    constexpr double kT[] = {7.853861353153693E-5f,  -8.010193625184903E-4f, 5.188327685732524E-3f,
                             -2.685381193529856E-2f, 1.128358514861418E-1f,  -3.761262582423300E-1f,
                             1.128379165726710E+0f};
    return x * Polynomial(square, kT);
  }
  constexpr double kT[] = {9.60497373987051638749E0, 9.00260197203842689217E1, 2.23200534594684319226E3,
                           7.00332514112805075473E3, 5.55923013010394962768E4};
  constexpr double kU[] = {1.0,
                           3.35617141647503099647E1,
                           5.21357949780152679795E2,
                           4.59432382970980127987E3,
                           2.26290000613890934246E4,
                           4.92673942608635921086E4};
  return x * Polynomial(square, kT) / Polynomial(square, kU);
}

}  // namespace

Expr Erfc(const Expr& x) {
  const Expr large = x.type() == PrimitiveType::kF32 ? ErfcOfLargeF32(x) : ErfcOfLargeF64(x);
  const Expr small = 1 - ErfOfSmall(x);
  return Select(Abs(x) < 1, small, large);
}

static Expr ErfInvF32(const Expr& x, const Expr& w) {
  constexpr double kSmall[] = {2.81022636e-08f, 3.43273939e-07f, -3.5233877e-06f, -4.39150654e-06f, 0.00021858087f,
                               -0.00125372503f, -0.00417768164f, 0.246640727f,    1.50140941f};
  constexpr double kLarge[] = {-0.000200214257f, 0.000100950558f, 0.00134934322f, -0.00367342844f, 0.00573950773f,
                               -0.0076224613f,   0.00943887047f,  1.00167406f,    2.83297682f};
  const Expr is_small = w < 5;
  const auto coefficient = [&](int i) { return Select(is_small, x.Constant(kSmall[i]), x.Constant(kLarge[i])); };
  const Expr v = Select(is_small, w - 2.5, Sqrt(w) - 3);
  return Horner(v, coefficient(0), 1, 9, coefficient);
}

static Expr ErfInvF64(const Expr& x, const Expr& w) {
  constexpr double kSmall[] = {
      -3.6444120640178196996e-21, -1.685059138182016589e-19,  1.2858480715256400167e-18,  1.115787767802518096e-17,
      -1.333171662854620906e-16,  2.0972767875968561637e-17,  6.6376381343583238325e-15,  -4.0545662729752068639e-14,
      -8.1519341976054721522e-14, 2.6335093153082322977e-12,  -1.2975133253453532498e-11, -5.4154120542946279317e-11,
      1.051212273321532285e-09,   -4.1126339803469836976e-09, -2.9070369957882005086e-08, 4.2347877827932403518e-07,
      -1.3654692000834678645e-06, -1.3882523362786468719e-05, 0.0001867342080340571352,   -0.00074070253416626697512,
      -0.0060336708714301490533,  0.24015818242558961693,     1.6536545626831027356};
  constexpr double kMiddle[] = {
      2.2137376921775787049e-09,  9.0756561938885390979e-08, -2.7517406297064545428e-07, 1.8239629214389227755e-08,
      1.5027403968909827627e-06,  -4.013867526981545969e-06, 2.9234449089955446044e-06,  1.2475304481671778723e-05,
      -4.7318229009055733981e-05, 6.8284851459573175448e-05, 2.4031110387097893999e-05,  -0.0003550375203628474796,
      0.00095328937973738049703,  -0.0016882755560235047313, 0.0024914420961078508066,   -0.0037512085075692412107,
      0.005370914553590063617,    1.0052589676941592334,     3.0838856104922207635};
  constexpr double kLarge[] = {-2.7109920616438573243e-11, -2.5556418169965252055e-10, 1.5076572693500548083e-09,
                               -3.7894654401267369937e-09, 7.6157012080783393804e-09,  -1.4960026627149240478e-08,
                               2.9147953450901080826e-08,  -6.7711997758452339498e-08, 2.2900482228026654717e-07,
                               -9.9298272942317002539e-07, 4.5260625972231537039e-06,  -1.9681778105531670567e-05,
                               7.5995277030017761139e-05,  -0.00021503011930044477347, -0.00013871931833623122026,
                               1.0103004648645343977,      4.8499064014085844221};
  const Expr is_small = w < 6.25, is_middle = w < 16;
  const auto coefficient = [&](int i) {
    Expr c = x.Constant(kSmall[i]);
    if (i < 19) c = Select(is_small, c, x.Constant(kMiddle[i]));
    if (i < 17) c = Select(is_middle, c, x.Constant(kLarge[i]));
    return c;
  };
  const Expr root = Sqrt(w), shifted = w - 3.125;
  const Expr v = Select(is_small, shifted, root - Select(is_middle, w.Constant(3.25), w.Constant(5)));
  Expr sum = Horner(v, coefficient(0), 1, 17, coefficient);
  for (int i = 17; i < 19; ++i) sum = Select(is_middle, coefficient(i) + sum * v, sum);
  for (int i = 19; i < 23; ++i) sum = Select(is_small, coefficient(i) + sum * v, sum);
  return sum;
}

Expr ErfInv(const Expr& x) {
  const Expr w = -Log1p(x * -x);
  const Expr result = (x.type() == PrimitiveType::kF32 ? ErfInvF32(x, w) : ErfInvF64(x, w)) * x;
  return Select(Abs(x) == 1, x * kInfinity, result);
}

// ---- The gamma function ------------------------------------------------------------------------------------------

namespace {

constexpr double kLanczosG = 7;
constexpr double kLanczosBase = 0.99999999999980993227684700473478;
constexpr double kLanczos[] = {676.520368121885098567009190444019, -1259.13921672240287047156078755283,
                               771.3234287776530788486528258894,   -176.61502916214059906584551354,
                               12.507343278686904814458936853,     -0.13857109526572011689554707,
                               9.984369578019570859563e-6,         1.50563273514931155834e-7};

// log(t) where t = z + g + 1/2.
Expr LogOfT(const Expr& z) { return std::log(kLanczosG + 0.5) + Log1p(z / z.Constant(kLanczosG + 0.5)); }

}  // namespace

// lgamma(z + 1) = log(2 pi) / 2 + (z + 1/2) log(t) - t + log(a(z)), and Euler's reflection below 1/2.
Expr Lgamma(const Expr& x) {
  const Expr reflects = x < 0.5;
  const Expr z = Select(reflects, -x, x - 1);
  Expr a = x.Constant(kLanczosBase);
  for (int i = 0; i < 8; ++i) a = a + kLanczos[i] / (z + (i + 1));
  const Expr t = (kLanczosG + 0.5) + z, log_t = LogOfT(z);
  const Expr r = (z + 0.5 - t / log_t) * log_t;
  const Expr lgamma = (std::log(2) + std::log(std::numbers::pi)) / 2 + r + Log(a);
  // log |sin(pi x)| is exact near whole numbers if pi multiplies the distance to them.
  const Expr size = Abs(x), rest = size - Floor(size);
  const Expr fraction = Select(x.Constant(0.5) < rest, 1 - rest, rest);
  const Expr log_sin = Log(Sin(std::numbers::pi * fraction));
  const Expr mirrored = Select(log_sin.Add(Opcode::kIsFinite, PrimitiveType::kPred, {&log_sin.inst()}),
                               std::log(std::numbers::pi) - log_sin - lgamma, -log_sin);
  return Select(Abs(x) == kInfinity, x.Constant(kInfinity), Select(reflects, mirrored, lgamma));
}

// digamma(z + 1) = log(t) + a'(z) / a(z) - g / t, and the reflection below 1/2.
Expr Digamma(const Expr& x) {
  const Expr reflects = x < 0.5;
  const Expr z = Select(reflects, -x, x - 1);
  Expr a = x.Constant(kLanczosBase), derivative = x.Constant(0);
  for (int i = 0; i < 8; ++i) {
    const Expr term = z + (i + 1);
    derivative = derivative - kLanczos[i] / (term * term);
    a = a + kLanczos[i] / term;
  }
  const Expr t = (kLanczosG + 0.5) + z;
  const Expr digamma = LogOfT(z) + derivative / a - kLanczosG / t;
  const Expr angle = std::numbers::pi * (x + Abs(Floor(x + 0.5)));
  const Expr mirrored = digamma - std::numbers::pi * Cos(angle) / Sin(angle);
  const Expr is_pole = (x <= 0) & (x == Floor(x));
  return Select(is_pole, x.Constant(kNan), Select(reflects, mirrored, digamma));
}

// ---- Other functions ---------------------------------------------------------------------------------------------

namespace {

Expr Chebyshev(const Expr& x, std::span<const double> coefficients) {
  Expr b0 = x.Constant(0), b1 = b0, b2 = b0;
  for (size_t i = 0; i < coefficients.size(); ++i) {
    b2 = b1;
    b1 = b0;
    b0 = (i < 2 ? x * b1 : x * b1 - b2) + coefficients[i];
  }
  return (b0 - b2) * 0.5;
}

}  // namespace

Expr BesselI1e(const Expr& x) {
  constexpr double kSmall[] = {
      2.77791411276104639959E-18, -2.11142121435816608115E-17, 1.55363195773620046921E-16, -1.10559694773538630805E-15,
      7.60068429473540693410E-15, -5.04218550472791168711E-14, 3.22379336594557470981E-13, -1.98397439776494371520E-12,
      1.17361862988909016308E-11, -6.66348972350202774223E-11, 3.62559028155211703701E-10, -1.88724975172282928790E-9,
      9.38153738649577178388E-9,  -4.44505912879632808065E-8,  2.00329475355213526229E-7,  -8.56872026469545474066E-7,
      3.47025130813767847674E-6,  -1.32731636560394358279E-5,  4.78156510755005422638E-5,  -1.61760815825896745588E-4,
      5.12285956168575772895E-4,  -1.51357245063125314899E-3,  4.15642294431288815669E-3,  -1.05640848946261981558E-2,
      2.47264490306265168283E-2,  -5.29459812080949914269E-2,  1.02643658689847095384E-1,  -1.76416518357834055153E-1,
      2.52587186443633654823E-1};
  constexpr double kLarge[] = {7.51729631084210481353E-18,  4.41434832307170791151E-18,  -4.65030536848935832153E-17,
                               -3.20952592199342395980E-17, 2.96262899764595013876E-16,  3.30820231092092828324E-16,
                               -1.88035477551078244854E-15, -3.81440307243700780478E-15, 1.04202769841288027642E-14,
                               4.27244001671195135429E-14,  -2.10154184277266431302E-14, -4.08355111109219731823E-13,
                               -7.19855177624590851209E-13, 2.03562854414708950722E-12,  1.41258074366137813316E-11,
                               3.25260358301548823856E-11,  -1.89749581235054123450E-11, -5.58974346219658380687E-10,
                               -3.83538038596423702205E-9,  -2.63146884688951950684E-8,  -2.51223623787020892529E-7,
                               -3.88256480887769039346E-6,  -1.10588938762623716291E-4,  -9.76109749136146840777E-3,
                               7.78576235018280120474E-1};
  // f32 needs only the largest coefficients.
  const bool is_f32 = x.type() == PrimitiveType::kF32;
  const std::span<const double> small = std::span(kSmall).last(is_f32 ? 17 : 29);
  const std::span<const double> large = std::span(kLarge).last(is_f32 ? 7 : 25);
  const Expr z = Abs(x);
  const Expr of_small = z * Chebyshev(0.5 * z - 2, small);
  const Expr of_large = Chebyshev(32 / z - 2, large) / Sqrt(z);
  return Sign(x) * Select(z <= 8, of_small, of_large);
}

// Euler-Maclaurin summation after 10 terms.
Expr Zeta(const Expr& x, const Expr& q) {
  constexpr double kCoefficients[] = {-7.1661652561756670113e18,
                                      1.8152105401943546773e17,
                                      -4.5979787224074726105e15,
                                      1.1646782814350067249e14,
                                      -2.950130727918164224e12,
                                      7.47242496e10,
                                      -1.8924375803183791606e9,
                                      47900160.0,
                                      -1209600.0,
                                      30240.0,
                                      -720.0,
                                      12.0};
  constexpr int kTerms = 12;
  const Expr minus_x = -x;
  Expr at = q, power = q.Constant(0), sum = Power(q, minus_x);
  for (int i = 0; i < 9; ++i) {
    at = at + 1;
    power = Power(at, minus_x);
    sum = sum + power;
  }
  at = at + 1;
  power = Power(at, minus_x);
  const Expr integral = power * at / (x - 1);
  const Expr inverse = 1 / (at * at);
  Expr tail = q.Constant(0);
  for (int i = 0; i + 1 < kTerms; ++i) {
    const Expr product = (x + (2 * kTerms - 2 - 2 * i)) * (x + (2 * kTerms - 3 - 2 * i));
    tail = product * (inverse * (tail + 1 / kCoefficients[i]));
  }
  const Expr corrections = power * (power.Constant(0.5) + x / at * (1 / kCoefficients[kTerms - 1] + tail));
  const Expr accurate = sum + integral + corrections;
  const double smallest = x.type() == PrimitiveType::kF32 ? std::numeric_limits<float>::denorm_min()
                                                          : std::numeric_limits<double>::denorm_min();
  Expr result = Select(Abs(power) < Abs(sum) * smallest, sum, accurate);
  const Expr nan = x.Constant(kNan), infinity = x.Constant(kInfinity);
  result = Select(x < 1, nan, result);
  const Expr is_low = q <= 0;
  result = Select(is_low & (x != Floor(x)), nan, result);
  const Expr is_even = (x == Floor(x)) & (Remainder(x, x.Constant(2)) == 0);
  result = Select(is_low & (q == Floor(q)), Select(is_even, infinity, nan), result);
  return Select(x == 1, infinity, result);
}

Expr Polygamma(const Expr& n, const Expr& x) {
  const Expr sign = 2 * Remainder(n, n.Constant(2)) - 1;
  const Expr next = n + 1;
  const Expr positive = sign * Exp(Lgamma(next)) * Zeta(next, x);
  const Expr result = Select(n == 0, Digamma(x), positive);
  return Select((n != Floor(n)) | (n < 0), x.Constant(kNan), result);
}

}  // namespace hlo::mlir
