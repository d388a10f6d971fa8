// The C interface of cuDNN 9's backend, declared here, so that the build needs no header.
#ifndef HLO_GPU_LIBRARIES_CUDNN_API_H_
#define HLO_GPU_LIBRARIES_CUDNN_API_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "gpu/device/shared_library.h"

namespace hlo::gpu::cudnn {

using Handle = void*;

enum DataType { kFloat = 0, kHalf = 2, kInt32 = 4, kBFloat16 = 9, kBoolean = 11 };
enum { kCrossCorrelation = 1, kPropagateNan = 1, kSumAndSquares = 0 };
enum HeuristicMode { kFallback = 2, kModeA = 3 };
enum PointwiseMode {
  kPointwiseAdd = 0,
  kPointwiseMultiply = 1,
  kPointwiseDivide = 6,
  kPointwiseSubtract = 9,
  kPointwiseExp = 13,
  kPointwiseLog = 15,
  kPointwiseRelu = 100,
  kPointwiseGreaterEqual = 303,
  kPointwiseIndex = 501,   // The index of an element along kPointwiseAxis.
  kPointwiseSelect = 601,  // kPointwiseX where kPointwiseT holds, else kPointwiseB.
};
enum ReductionOperator { kReduceAdd = 0, kReduceMax = 3 };
enum NumericalNote {
  kTensorCore = 0,
  kDownConvertInputs = 1,
  kReducedPrecisionReduction = 2,
  kFft = 3,
  kNondeterministic = 4,
  kWinograd = 5,
  kWinograd4x4 = 6,
  kWinograd6x6 = 7,
  kWinograd13x13 = 8,
};
enum { kRuntimeCompilation = 0 };  // cudnnBackendBehaviorNote_t

// cudnnBackendAttributeType_t
enum Type {
  kTypeHandle = 0,
  kTypeDataType = 1,
  kTypeBoolean = 2,
  kTypeInt64 = 3,
  kTypeFloat = 4,
  kTypePointer = 6,
  kTypeConvolutionMode = 7,
  kTypeHeuristicMode = 8,
  kTypeNanPropagation = 10,
  kTypeNumericalNote = 11,
  kTypePointwiseMode = 14,
  kTypeDescriptor = 15,
  kTypeStatisticsMode = 16,
  kTypeReductionOperator = 18,
  kTypeBehaviorNote = 19,
  kTypeChar = 24,
};

// cudnnBackendDescriptorType_t
enum Kind {
  kPointwise = 0,
  kConvolution = 1,
  kEngine = 2,
  kEngineConfig = 3,
  kHeuristic = 4,
  kPlan = 5,
  kConvolutionForward = 10,
  kConvolutionWeights = 11,
  kConvolutionImages = 12,
  kPointwiseOperation = 13,
  kStatisticsOperation = 14,
  kOperationGraph = 15,
  kVariantPack = 16,
  kTensor = 17,
  kMatmul = 18,
  kMatmulOperation = 19,
  kReduction = 21,
  kReductionOperation = 22,
  kReshapeOperation = 31,
  kDeviceProperties = 38,  // Since 9.8.
};

// cudnnBackendAttributeName_t
enum Attribute {
  kPointwiseModeOf = 0,
  kPointwisePrecision = 1,
  kPointwiseNan = 2,
  kPointwiseAxis = 9,
  kConvolutionPrecision = 100,
  kConvolutionMode = 101,
  kConvolutionDilations = 102,
  kConvolutionStrides = 103,
  kConvolutionPadHigh = 104,
  kConvolutionPadLow = 105,
  kConvolutionRank = 106,
  kHeuristicModeOf = 200,
  kHeuristicGraph = 201,
  kHeuristicResults = 202,
  kHeuristicDevice = 204,
  kConfigEngine = 300,
  kPlanHandle = 400,
  kPlanConfig = 401,
  kPlanWorkspace = 402,
  kPlanDevice = 407,
  // Each kind of convolution has these six attributes, in the same order.
  kForwardAlpha = 700,
  kForwardBeta = 701,
  kForwardConvolution = 702,
  kForwardWeights = 703,
  kForwardImages = 704,
  kForwardOutputs = 705,
  kImagesAlpha = 706,
  kImagesBeta = 707,
  kImagesConvolution = 708,
  kImagesWeights = 709,
  kImagesImages = 710,
  kImagesOutputs = 711,
  kWeightsAlpha = 712,
  kWeightsBeta = 713,
  kWeightsConvolution = 714,
  kWeightsWeights = 715,
  kWeightsImages = 716,
  kWeightsOutputs = 717,
  kPointwiseDescriptor = 750,
  kPointwiseX = 751,
  kPointwiseB = 752,
  kPointwiseY = 753,
  kPointwiseT = 758,
  kStatisticsModeOf = 770,
  kStatisticsPrecision = 771,
  kStatisticsX = 772,
  kStatisticsSum = 773,
  kStatisticsSquares = 774,
  kGraphHandle = 800,
  kGraphOperations = 801,
  kTensorAlignment = 900,
  kTensorType = 901,
  kTensorDims = 902,
  kTensorStrides = 903,
  kTensorId = 906,
  kTensorIsVirtual = 907,
  kTensorIsByValue = 908,
  kVariantIds = 1000,
  kVariantPointers = 1001,
  kVariantWorkspace = 1003,
  kEngineIndex = 1301,
  kEngineNumericalNotes = 1303,
  kEngineBehaviorNotes = 1305,
  kMatmulPrecision = 1500,
  kMatmulA = 1520,
  kMatmulB = 1521,
  kMatmulC = 1522,
  kMatmulDescriptor = 1523,
  kReductionOperatorOf = 1600,
  kReductionPrecision = 1601,
  kReductionX = 1610,
  kReductionY = 1611,
  kReductionDescriptor = 1612,
  kReshapeX = 2200,
  kReshapeY = 2201,
  kDeviceJson = 2702,
};

struct Api {
  static constexpr std::string_view kFiles[] = {"libcudnn.so.9"};
  static constexpr std::string_view kFolders[] = {"/usr/local/cuda/lib64"};
  SharedLibrary library;
  size_t (*version)() = library.Get("cudnnGetVersion");
  const char* (*status_string)(int) = library.Get("cudnnGetErrorString");
  void (*last_error)(char*, size_t) = library.Get("cudnnGetLastErrorString");
  int (*create)(Handle*) = library.Get("cudnnCreate");
  int (*destroy)(Handle) = library.Get("cudnnDestroy");
  int (*set_stream)(Handle, void* stream) = library.Get("cudnnSetStream");
  int (*descriptor_create)(int kind, Handle*) = library.Get("cudnnBackendCreateDescriptor");
  int (*descriptor_destroy)(Handle) = library.Get("cudnnBackendDestroyDescriptor");
  int (*descriptor_set)(Handle, int attribute, int type, int64_t count,
                        const void*) = library.Get("cudnnBackendSetAttribute");
  int (*descriptor_get)(Handle, int attribute, int type, int64_t count, int64_t* found,
                        void*) = library.Get("cudnnBackendGetAttribute");
  int (*finalize)(Handle) = library.Get("cudnnBackendFinalize");
  int (*execute)(Handle, Handle plan, Handle variant_pack) = library.Get("cudnnBackendExecute");

  std::string VersionText() const {
    const size_t v = version();
    return Str(v / 10000, ".", v / 100 % 100, ".", v % 100);
  }
  // An error with cuDNN's message: R015, or R018 if cuDNN does not support the request.
  Error Failed(std::string_view call, int status) const;
};

Result<const Api*> GetApi(const std::vector<std::string>& search);

// A descriptor of cuDNN. Finalize returns its first error.
class Descriptor {
 public:
  Descriptor(const Api& api, Kind kind);
  Descriptor(Descriptor&& other) noexcept : api_(other.api_), error_(std::move(other.error_)) {
    std::swap(handle_, other.handle_);
  }
  ~Descriptor();

  Descriptor& Set(Attribute attribute, Type type, int64_t count, const void* values);
  Descriptor& Integers(Attribute attribute, const std::vector<int64_t>& values) {
    return Set(attribute, kTypeInt64, std::ssize(values), values.data());
  }
  Descriptor& Integer(Attribute attribute, int64_t value) { return Set(attribute, kTypeInt64, 1, &value); }
  Descriptor& Word(Attribute attribute, Type type, int value) { return Set(attribute, type, 1, &value); }
  Descriptor& Real(Attribute attribute, float value) { return Set(attribute, kTypeFloat, 1, &value); }
  Descriptor& Flag(Attribute attribute, bool value) { return Set(attribute, kTypeBoolean, 1, &value); }
  Descriptor& Pointer(Attribute attribute, Type type, const void* value) { return Set(attribute, type, 1, &value); }
  Descriptor& Refer(Attribute attribute, const Descriptor& other) {
    return Pointer(attribute, kTypeDescriptor, other.handle_);
  }
  Descriptor& Refer(Attribute attribute, const std::vector<const Descriptor*>& others);
  Status Finalize();
  Status Made() const {
    if (error_) FAIL(*error_);
    return {};
  }

  // Stores up to `count` values and returns how many. With `values` null, returns how many exist.
  Result<int64_t> Get(Attribute attribute, Type type, int64_t count, void* values) const;
  Handle handle() const { return handle_; }

 private:
  const Api& api_;
  Handle handle_ = nullptr;
  std::optional<Error> error_;
};

}  // namespace hlo::gpu::cudnn

#endif  // HLO_GPU_LIBRARIES_CUDNN_API_H_
