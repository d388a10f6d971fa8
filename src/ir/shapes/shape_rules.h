// The shape of every op, from its operands and attributes: what `check` compares with the shape in the text, what fills
// in a shape that the text leaves out, and what builders of instructions may ask. One rule for each kind of op; ops.def
// says which op has which. A rule reports the first broken precondition at the instruction, with the rule's code of
// ir/verifier/rules.def. Ops whose shape the text must give (kInferable is absent) still have a rule: it reads
// inst.shape() as written, checks it and returns it.
#ifndef HLO_IR_SHAPES_SHAPE_RULES_H_
#define HLO_IR_SHAPES_SHAPE_RULES_H_

#include <span>
#include <vector>

#include "base/result.h"
#include "ir/shape.h"

namespace hlo {

class Instruction;
struct Window;

// Whether a bitcast-convert between these takes each pred for one bit, as StableHLO does, and not for a byte, as XLA's
// HLO does. The last dimension tells: f64[2] is pred[2,64] in bits and pred[2,8] in bytes.
bool TakesPredsForBits(const Shape& from, const Shape& to);

Result<Shape> ShapeAsWritten(const Instruction& inst);
Result<Shape> ShapeOfAbs(const Instruction& inst);
Result<Shape> ShapeOfAfterAll(const Instruction& inst);
Result<Shape> ShapeOfArithmetic(const Instruction& inst);
Result<Shape> ShapeOfAtan2(const Instruction& inst);
Result<Shape> ShapeOfBatchNormGrad(const Instruction& inst);
Result<Shape> ShapeOfBatchNormInference(const Instruction& inst);
Result<Shape> ShapeOfBatchNormTraining(const Instruction& inst);
Result<Shape> ShapeOfBinary(const Instruction& inst);
Result<Shape> ShapeOfBitcast(const Instruction& inst);
Result<Shape> ShapeOfBitcastConvert(const Instruction& inst);
Result<Shape> ShapeOfBitwise(const Instruction& inst);
Result<Shape> ShapeOfBroadcast(const Instruction& inst);
Result<Shape> ShapeOfCall(const Instruction& inst);
Result<Shape> ShapeOfCholesky(const Instruction& inst);
Result<Shape> ShapeOfClamp(const Instruction& inst);
Result<Shape> ShapeOfCompare(const Instruction& inst);
Result<Shape> ShapeOfComplex(const Instruction& inst);
Result<Shape> ShapeOfComplexUnary(const Instruction& inst);
Result<Shape> ShapeOfConcatenate(const Instruction& inst);
Result<Shape> ShapeOfConditional(const Instruction& inst);
Result<Shape> ShapeOfConstant(const Instruction& inst);
Result<Shape> ShapeOfConvert(const Instruction& inst);
Result<Shape> ShapeOfConvolution(const Instruction& inst);
Result<Shape> ShapeOfDot(const Instruction& inst);
Result<Shape> ShapeOfDynamicReshape(const Instruction& inst);
Result<Shape> ShapeOfDynamicSlice(const Instruction& inst);
Result<Shape> ShapeOfDynamicUpdateSlice(const Instruction& inst);
Result<Shape> ShapeOfFft(const Instruction& inst);
Result<Shape> ShapeOfFirst(const Instruction& inst);
Result<Shape> ShapeOfFloatUnary(const Instruction& inst);
Result<Shape> ShapeOfFusion(const Instruction& inst);
Result<Shape> ShapeOfGather(const Instruction& inst);
Result<Shape> ShapeOfGetDimensionSize(const Instruction& inst);
Result<Shape> ShapeOfGetTupleElement(const Instruction& inst);
Result<Shape> ShapeOfIntegerUnary(const Instruction& inst);
Result<Shape> ShapeOfIota(const Instruction& inst);
Result<Shape> ShapeOfIsFinite(const Instruction& inst);
Result<Shape> ShapeOfMap(const Instruction& inst);
Result<Shape> ShapeOfNegate(const Instruction& inst);
Result<Shape> ShapeOfPad(const Instruction& inst);
Result<Shape> ShapeOfProcessId(const Instruction& inst);
Result<Shape> ShapeOfRaggedDot(const Instruction& inst);
Result<Shape> ShapeOfRealImag(const Instruction& inst);
Result<Shape> ShapeOfReduce(const Instruction& inst);
Result<Shape> ShapeOfReducePrecision(const Instruction& inst);
Result<Shape> ShapeOfReduceWindow(const Instruction& inst);
Result<Shape> ShapeOfReshape(const Instruction& inst);
Result<Shape> ShapeOfReverse(const Instruction& inst);
Result<Shape> ShapeOfRng(const Instruction& inst);
Result<Shape> ShapeOfRngBitGenerator(const Instruction& inst);
Result<Shape> ShapeOfRngState(const Instruction& inst);
Result<Shape> ShapeOfScaledDot(const Instruction& inst);
Result<Shape> ShapeOfScan(const Instruction& inst);
Result<Shape> ShapeOfScatter(const Instruction& inst);
Result<Shape> ShapeOfSelect(const Instruction& inst);
Result<Shape> ShapeOfSelectAndScatter(const Instruction& inst);
Result<Shape> ShapeOfSetDimensionSize(const Instruction& inst);
Result<Shape> ShapeOfShuffle(const Instruction& inst);
Result<Shape> ShapeOfSlice(const Instruction& inst);
Result<Shape> ShapeOfSort(const Instruction& inst);
Result<Shape> ShapeOfStochasticConvert(const Instruction& inst);
Result<Shape> ShapeOfTopK(const Instruction& inst);
Result<Shape> ShapeOfTranspose(const Instruction& inst);
Result<Shape> ShapeOfTriangularSolve(const Instruction& inst);
Result<Shape> ShapeOfTuple(const Instruction& inst);
Result<Shape> ShapeOfWhile(const Instruction& inst);

// Sizes of the result of sliding `window` over `dims`: docs/ops.md#windows.
Result<std::vector<int64_t>> WindowedDims(const Instruction& inst, std::span<const int64_t> dims, const Window& window);

// What the kind of a convolution makes of it: dgrad gives the input whose forward convolution, of this window, has the
// size of the first operand, and where several have it, the smallest; the other kinds, and unset, the shape of sliding
// the window. Labels are those of the operands as they stand: the second one's `o` is the result's feature in all
// kinds.
Result<Shape> ShapeOfConvolutionKind(const Instruction& inst);

// Where a shuffle with mode=rotate begins: its first element along each dimension of the operand. Shifts of any size
// and sign mean those from 0 to the size.
std::vector<int64_t> ShuffleStarts(const Instruction& shuffle);

// The rule of the instruction's opcode.
Result<Shape> InferShape(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_IR_SHAPES_SHAPE_RULES_H_
