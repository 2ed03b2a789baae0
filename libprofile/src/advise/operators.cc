#include "memtool/profile/advise/operators.h"

#include <array>
#include <functional>
#include <map>
#include <string_view>

#include "memtool/profile/base/once_per_text.h"
#include "memtool/profile/select/operation_name.h"

namespace memtool::advise {

namespace {

// aten/src/ATen/autocast_mode.h: AT_FORALL_LOWER_PRECISION_FP and AT_FORALL_FP32, with the names
// that these operators have inside, and those of their backward.
struct Row {
  Operator what;
  std::string_view names;  // between blanks
};
constexpr std::array kOperators{
    Row{Operator::kProduct,
        " mm bmm addmm baddbmm addbmm mv addmv matmul einsum linear convolution "
        "convolution_backward cudnn_convolution cudnn_convolution_transpose miopen_convolution "
        "_convolution conv1d conv2d conv3d conv_transpose2d _thnn_fused_lstm_cell "
        "_thnn_fused_gru_cell "},
    Row{Operator::kFused,
        " _scaled_dot_product_flash_attention _scaled_dot_product_efficient_attention "
        "_scaled_dot_product_cudnn_attention _scaled_dot_product_flash_attention_backward "
        "_scaled_dot_product_efficient_attention_backward _flash_attention_forward "
        "_scaled_dot_product_cudnn_attention_backward _flash_attention_backward "
        "_efficient_attention_forward _efficient_attention_backward "},
    Row{Operator::kSingle,
        " exp expm1 log log2 log10 log1p pow rsqrt reciprocal acos asin cosh sinh tan erfinv "
        "softplus softmax _softmax _softmax_backward_data native_layer_norm "
        "native_layer_norm_backward native_group_norm native_group_norm_backward norm "
        "linalg_vector_norm prod cumsum cumprod cdist cosine_similarity nll_loss_forward "
        "nll_loss_backward nll_loss2d_forward nll_loss2d_backward mse_loss mse_loss_backward "
        "smooth_l1_loss binary_cross_entropy_with_logits "},
    Row{Operator::kSum, " sum "}, Row{Operator::kLogits, " _log_softmax "},
    Row{Operator::kLogitsBackward, " _log_softmax_backward_data "},
    Row{Operator::kFixed,
        " embedding index_select embedding_dense_backward arange randint randperm one_hot argmax "
        "argsort nonzero eq ne ge gt le lt isnan isinf isfinite logical_and logical_or "
        "logical_not logical_xor bitwise_and bitwise_or bitwise_not tril_indices triu_indices "},
    Row{Operator::kWidest, " add addcmul addcdiv cat stack concat "},
    // They only get memory for another.
    Row{Operator::kUnknown,
        " empty empty_like empty_strided empty_permuted new_empty new_empty_strided resize "
        "resize_ scalar_tensor set_ "}};

Operator OperatorNamed(std::string_view name) {
  static const std::map<std::string_view, Operator> known = [] {
    std::map<std::string_view, Operator> all;
    for (const Row& row : kOperators) {
      for (std::size_t at = 1; at < row.names.size();) {
        const std::size_t end = row.names.find(' ', at);
        all.emplace(row.names.substr(at, end - at), row.what);
        at = end + 1;
      }
    }
    return all;
  }();
  const auto found = known.find(name);
  return found == known.end() ? Operator::kSame : found->second;
}

// It asks for logarithms in the precision that it was given, where log_softmax() by itself would
// compute in single precision.
bool IsCrossEntropy(std::string_view text) {
  return text.find("at::_ops::cross_entropy_loss::") != std::string_view::npos;
}

class Finder {
 public:
  explicit Finder(const Recording& recording) : recording_(recording) {}

  Operators Find() {
    result_.of_stacks.reserve(recording_.stack_count());
    for (std::uint32_t row = 0; row < recording_.stack_count(); ++row) {
      result_.of_stacks.push_back(OfStack(StackId(row)));
    }
    return std::move(result_);
  }

 private:
  Operator OfStack(StackId stack) {
    Operator innermost = Operator::kUnknown;
    bool entropy = false;
    bool part = false;
    for (const LocationId location : recording_.Stack(stack)) {
      for (const Line& line : recording_.Lines(recording_.At(location))) {
        if (!line.function.valid()) {
          continue;
        }
        const StringId name = recording_.functions[line.function.value()].name;
        const Operator kind = kinds_(name);
        innermost = innermost == Operator::kUnknown ? kind : innermost;
        entropy |= innermost == Operator::kLogits && IsCrossEntropy(recording_.Text(name));
        part |= innermost == Operator::kSame &&
                (kind == Operator::kProduct || kind == Operator::kFused);
      }
    }
    return part                                         ? Operator::kPart
           : innermost == Operator::kLogits && !entropy ? Operator::kSingle
                                                        : innermost;
  }

  Operator OfFunction(StringId id) {
    const std::string_view text = recording_.Text(id);
    result_.autocast |= text.find("at::autocast::") != std::string_view::npos;
    if (text.find("orkspace") != std::string_view::npos) {
      return Operator::kFixed;
    }
    // Nodes of autograd are around what they run.
    const bool names_one = text.find("at::_ops::") != std::string_view::npos;
    const std::string_view name = names_one ? OperationName(text) : std::string_view();
    result_.any |= !name.empty();
    return name.empty() ? Operator::kUnknown : OperatorNamed(name);
  }

  const Recording& recording_;
  Operators result_;
  OncePerText<std::function<Operator(StringId)>> kinds_{
      [this](StringId id) { return OfFunction(id); }};
};

}  // namespace

Operators OperatorsOf(const Recording& recording) {
  return Finder(recording).Find();
}

}  // namespace memtool::advise
