// The dictionaries that come with the program. They go by who allocated, because no file says what
// a byte is for; each one shows what it cannot tell as Unknown or Others. Each word has an example
// in tests/unit/formats/documents/keywords/builtin_test.cc.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "memtool/formats/keywords.h"

namespace memtool::formats {

namespace {

constexpr std::string_view kMxnet =
    R"(# Categories of MXNet's tags: what the graph executor, the optimizer and the operators wrote into them.
# Words are case-sensitive substrings of a tag; the first category that matches has the row.
# - The official CSV names the output of an operator by its scope and its node only (resnetv10:conv0_fwd): what
#   has a scope and no other mark is an activation; rest: is for what no other word matches.
# - Gradients are those of parameters and the outputs of backward operators.
# profile: gpu_memory_profile-pid_1234.csv
# expected_sum: 11GB
keywords:
  Optimizer state: [optimizer, "updater:"]
  Gradients: [arg_grad, head_grad, "rest:/_(?:backward|bwd)[0-9]*$/"]
  Communication: ["comm_dev:", "kvstore:"]
  Workspace: [workspace, temp_space, reserve_space, cudnn_rnn, dropout_state, "resource:"]
  Input data: ["image_io:", "in_arg:data", "in_arg:label"]
  Parameters: [in_arg, aux_state, aux_data, "/(?:^|:)init:/"]
  Unknown: ["/(?:^|:)unknown[^:]*/", "/<unk>:?$/", "/^<unk>:_/", untagged, ctx_source_unclear, "csr:", "row_sparse:"]
  Activations: [data_entry, forward_features, "<ephemeral>", "/_(?:fwd|output)[0-9]*$/", "rest:/:[^:]+$/"]
)";

constexpr std::string_view kPytorch =
    R"(# Categories of PyTorch's memory by the code that allocates it: a word is searched in the functions of all
# frames of a stack, file: words in their files. The first category that matches has the bytes; rest: is for what no
# other word matches, nested: for two such frames of which one calls the other.
# - Gathered parameters are the whole ones that FSDP, ZeRO and offloading put together for a while.
# - Parameter and gradient buffers: Megatron allocates both in one function.
# - Activations come before Gradients: what checkpointing computes again runs a forward inside a backward. Compiled
#   code is a forward unless autograd or an optimizer runs it.
# - Optimizer state holds the optimizer's temporaries too, and its own copy of the parameters.
# - Of what a backward pass allocates, Gradients holds what outlives it, Backward temporaries what it frees again
#   (label backward, where a history with native frames tells it). Timelines and leaks go by stacks alone: there
#   Gradients holds both, and so it does where the recording ends within the pass.
# - What a constructor allocates inside another constructor counts as Parameters: modules are made so.
# - label:category and the names with a space are what a memory timeline of PyTorch's profiler says itself.
# - label use: what the sizes of gradients, and what the optimizer frees, show of the blocks from before the recording;
#   what cuBLAS works in has a size of its own. Timelines and leaks do not know it.
# - Unknown: the other blocks from before the recording, and those without a frame. With Python frames only (stacks='python')
#   that is where backward passes are, because autograd's threads have none: record with stacks='all'.
keywords:
  Communication:
    - c10d
    - ProcessGroup
    - nccl
    - file:torch/distributed/distributed_c10d.py
    - file:torch/distributed/_symmetric_memory/
    - file:deepspeed/comm/
    - file:vllm/distributed/
    - file:sglang/srt/distributed/
  Workspace:
    - label:use=workspace
    - "/[Ww]orkspace/"
    - getCurrentCUDABlasHandle
    - cublasLt
    - "/run_conv_plan|get_plans_from_find|run_cudnn_SDP|_cudnn_init_dropout_state/"
    - file:torch/_inductor/select_algorithm.py
    - file:torch/_inductor/autotune_process.py
    - file:torch/_inductor/runtime/
    - file:triton/runtime/autotuner.py
    - file:triton/testing.py
  KV cache:
    - "/(?:alloc|init|creat|setup|reserv)[a-z]*_(?:[a-z]+_)*(?:kv|mamba|inference)_?(?:cache|buffer|pool|state)/"
    - "/^setup_caches?$/"
    - file:/cache_engine
    - file:/kv_cache.py
    - file:sglang/srt/mem_cache/
    - file:megatron/core/inference/contexts/
    - file:transformers/cache_utils.py
  CUDA graphs:
    - "/^_?capture_(?:model|cudagraphs?|graphs?|one_batch_size)$/"
    - file:torch/_inductor/cudagraph_trees.py
    - file:torch/cuda/graphs.py
  Parameter and gradient buffers:
    - file:megatron/core/distributed/
    - load_megatron_model_to_gpu
  Gathered parameters:
    - "/^_?(?:pre_forward_|pre_backward_|prefetch_)?unshard/"
    - "/^_*all_?gather_(?:flat_)?(?:params?|dtype|sequential|coalesced)/"
    - "/^foreach_all_gather|all_gather_outputs$/"
    - fetch_sub_module
    - "/^(?:pre_forward|_onload_from_[a-z]+)$/"
    - "/^_?update_weights_from_/"
    - file:verl/checkpoint_engine/
  Activations:
    - "/^_?forward(?:_(?:impl|features|head|step|pass|micro_batch|extend|decode|idle|batch|raw|cuda|hip|native))?$/"
    - "/^(?:_wrapped)?_call_impl$/"
    - "/(?:^|_)(?:cross_entropy|softmax|loss|loss_fn)$/"
    - "/log_?p(?:rob)?s?(?:_|$)/"
    - file:torch/nn/functional.py
    - file:transformers/generation/
    - rest:file:torchinductor_
    - rest:file:inductor_cache/
    - rest:file:torch/_inductor/
    - rest:file:torch/_functorch/
    - rest:file:torch/_dynamo/eval_frame.py
    - "rest:/^(?:execute_model|_dummy_run|profile_run)$/"
    - rest:file:transformers/trainer
    - rest:file:trl/trainer/
    - rest:file:verl/workers/actor/
    - rest:file:verl/utils/torch_functional.py
    - rest:file:diffusers/pipelines/
    - rest:file:diffusers/schedulers/
    - rest:file:diffusers/models/
    - label:category=Activation
  Backward temporaries: [label:backward=temporary]
  Gradients:
    - label:use=gradient
    - autograd::Engine
    - autograd::AccumulateGrad
    - "/Backward[0-9]*::apply/"
    - "/^_?backward(?:_step)?$/"
    - file:torch/autograd/__init__.py
    - file:torch/autograd/graph.py
    - "/^_?(?:post_backward|reduce_grad|foreach_reduce|ddp_init_helper|setup_buckets)/"
    - "/_ipg_|_grads_in_partition|partition_grads|_contiguous_grads|reduce_gradients|_grads_to_main_grads|clip_grad/"
    - "rest:/^_setup_for_real_optimizer$/"
    - label:category=Gradient
  Optimizer state:
    - "/^Optimizer state$/"
    - label:use=optimizer_state
    - file:torch/optim/
    - file:torch/distributed/fsdp/_optim_utils.py
    - file:apex/optimizers/
    - file:bitsandbytes/optim/
    - file:torchao/optim/
    - file:transformers/optimization.py
    - file:transformer_engine/pytorch/optimizers/
    - file:megatron/core/optimizer/
    - file:deepspeed/ops/adam/
    - file:deepspeed/ops/lamb/
    - file:deepspeed/ops/lion/
    - file:deepspeed/runtime/bf16_optimizer.py
    - file:deepspeed/runtime/fp16/
    - "/^initialize_optimizer_states$|_fp32_partitions$/"
    - "/^load_[a-z_]*(?:optimizer|copy_params)$/"
    - rest:file:deepspeed/runtime/zero/
  Input data:
    - "/^_?prepare_inputs?$/"
    - "/^(?:pin_memory|send_to_device)$/"
    - file:torch/utils/data/
    - file:vllm/v1/worker/gpu_input_batch.py
    - file:vllm/v1/worker/block_table.py
    - file:sglang/srt/model_executor/input_buffers.py
    - label:category=Input
  Temporaries: [label:category=Temporary]
  Autograd detail: ["/^Autograd detail$/"]
  Parameters:
    - label:category=Parameter
    - label:use=parameter
    - file:torch/nn/modules/
    - file:torch/nn/parameter.py
    - file:torch/nn/init.py
    - file:torch/serialization.py
    - file:torch/distributed/fsdp/
    - file:torch/distributed/_composable/fsdp/
    - file:torch/distributed/tensor/
    - file:safetensors/
    - file:accelerate/utils/modeling.py
    - file:peft/tuners/
    - file:bitsandbytes/nn/
    - file:transformer_engine/pytorch/module/
    - file:megatron/core/tensor_parallel/
    - file:deepspeed/runtime/zero/partition_parameters.py
    - file:vllm/model_executor/
    - file:vllm/lora/
    - file:sglang/srt/model_loader/
    - file:sglang/srt/layers/
    - "/^(?:_load_from_|load_)?state_dict/"
    - "/^_?load_(?:state_dict|checkpoint|weights?|model|pretrained|lora|fsdp_model)/"
    - "/^(?:from_pretrained|reset_parameters|to_empty|create_weights|create_reference_model)$/"
    - "/^_?init.*weight/"
    - "nested:/^__init__$/"
  Unknown: [(before recording), (no stack), label:category=Unknown]
)";

constexpr std::string_view kJax =
    R"(# Categories of JAX's memory by the code that allocates it: a word is searched in the functions of all
# frames of a stack, file: words in their files, label: words in the profile's labels.
# - A device memory profile shows buffers and programs, not what is inside a jitted computation: activations,
#   gradients and workspace of a compiled step are in none of its rows while the step does not run.
# - What a compiled training step returns is parameters and optimizer state in one: Training state.
# - What the allocator gave beyond what was asked for is Rounding.
keywords:
  Rounding: [label:category=rounding]
  Compiled programs: [label:kind=executable]
  Communication: ["/^(?:psum|pmean|all_gather|all_to_all|ppermute|reduce_scatter|broadcast_one_to_all)$/"]
  Optimizer state: [file:optax/, file:flax/optim/, "/^(?:init_opt|opt_init|init_optimizer)/"]
  Gradients: ["/^(?:value_and_grad|grad|backward_pass|vjp|_vjp|linearize)/"]
  Parameters:
    - "/^_?init(?:_fn|_with_output|_with_params|_params|_weights|ialize|_model|_bundle)?$/"
    - "/^(?:load|restore|from_pretrained)/"
    - "/^(?:create|init)_(?:train_)?state$/"
    - "/^(?:random_|init_)?(?:params|parameters|weights)$/"
    - file:jax/_src/nn/initializers.py
  Activations: [file:flax/, file:haiku/, file:equinox/, "/^(?:apply|apply_fn|forward|predict)$/"]
  Input data:
    - "/^(?:device_put|device_put_sharded|device_put_replicated|shard_batch|prefetch_to_device)$/"
    - "/preprocess|(?:^|_)load_(?:data|batch|dataset)|(?:get|next)_batch/"
  Training state: ["/(?:^|_)train(?:_step|_epoch|_loop|_batch)?$/", "/(?:^|_)(?:update|full|training)_step$/", "/^update$/"]
  Unknown: [(no stack)]
)";

constexpr std::string_view kXla =
    R"(# Categories of XLA's programs, in dumps, tables and traces, as the compiler names its allocations; of TensorFlow's
# traces, as an operation asks for memory. label: words are searched in the labels of a buffer.
# - Parameters are what a program is called with: weights, optimizer state and inputs alike.
# - A message of a program that did not fit lists arguments, and other buffers without saying which are outputs.
# - What a trace does not tell of a buffer goes by the code that ran: rest: is for what no other word matches.
# - What the allocator gave beyond what was asked for is Rounding, whatever it was for.
keywords:
  Rounding: [label:category=rounding]
  Parameters: [label:category=parameter, label:kind=argument]
  Outputs: [label:category=output, label:region=output]
  Constants: [label:category=constant]
  Temporaries: [label:category=temporary, label:category=thread-local, label:kind=temporary, label:region=temp]
  Temporaries or outputs: ["label:kind=temporary or output", "label:kind=not listed"]
  Other programs and arrays: [label:kind=heap]
  Reserved by the system: [label:kind=reserved]
  Optimizer state: [rest:file:optax/]
  Gradients: ["rest:/^(?:value_and_grad|grad|backward_pass|vjp|_vjp|linearize)/"]
  Activations: [rest:file:flax/, rest:file:haiku/, rest:file:equinox/, "rest:/^(?:apply|apply_fn|forward|predict)$/"]
  Training state: ["rest:/(?:^|_)train(?:_step|_epoch|_loop|_batch)?$/", "rest:/^update$/"]
  Unknown: [(before recording), (no stack)]
)";

constexpr std::string_view kDriver =
    R"(# Categories of what a process takes from the driver, by the library whose code asked for it: a word is searched
# in the functions of all frames of a stack, file: words in their files and in the libraries that they are in.
# - Libraries come before the frameworks that call them, graphs before both: what a graph keeps is the graph's.
# - Framework's allocator: its segments. Beside a snapshot of the framework only what the snapshot lacks is there.
keywords:
  Pinned host memory: [label:device=host]
  Graphs: ["/^(?:cu|cuda|hip)Graph/"]
  NCCL: ["/^p?nccl[A-Z_]/", file:libnccl, file:librccl]
  NVSHMEM, UCX and MPI: ["/^nvshmemx?_/", "/^(?:ucp|uct|ucm)_/", file:libnvshmem, file:libucp, file:libmpi]
  cuDNN and MIOpen: ["/^(?:cudnn|miopen)[A-Z]/", file:libcudnn, file:libMIOpen]
  BLAS: ["/^(?:cublas|rocblas_|hipblas)/", file:libcublas, file:librocblas, file:libhipblas]
  Other math libraries: [file:libcufft, file:libcusolver, file:libcusparse, file:libcurand, file:libnvjpeg, file:libnpp,
    file:libnvinfer, file:librocfft, file:librocsolver, file:librocsparse, file:libcudf, file:librmm, file:libcupy]
  Framework's allocator:
    - CUDACachingAllocator
    - CUDAMallocAsyncAllocator
    - BFCAllocator
    - GpuCudaMallocAsyncAllocator
    - stream_executor
    - mxnet::storage
  Unknown: [(before recording), (no stack)]
)";

constexpr std::string_view kLog =
    R"(# Categories of what jobs print about memory (memtool-formats(5)): the amounts that logs name.
# - Others: levels (allocated, reserved) that a log gives by stage and not by purpose.
keywords:
  Weights: ["/^weights$/"]
  Adapters and projectors: ["/^(?:LoRA adapters|projector)$/"]
  KV cache: ["/^(?:KV cache|recurrent state|prompt cache)$/"]
  Activations: ["/^activations .peak.$/"]
  Compute buffers: ["/^(?:compute|output) buffers$/"]
  CUDA graphs: ["/^CUDA graphs$/"]
  Compiled programs: ["/ of a program$/"]
  Outside the framework: ["/outside the framework$/"]
)";

constexpr std::array<BuiltinKeywords, 6> kBuiltins{{{"mxnet", kMxnet},
                                                    {"pytorch", kPytorch},
                                                    {"jax", kJax},
                                                    {"xla", kXla},
                                                    {"driver", kDriver},
                                                    {"log", kLog}}};

}  // namespace

std::span<const BuiltinKeywords> BuiltinDictionaries() {
  return kBuiltins;
}

Result<BuiltinKeywords> FindBuiltin(std::string_view name) {
  constexpr std::string_view kPrefix = "builtin:";
  const std::string_view wanted = name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
  const auto* it = std::find_if(kBuiltins.begin(), kBuiltins.end(),
                                [wanted](const auto& each) { return each.name == wanted; });
  if (it == kBuiltins.end()) {
    return Fail(
        ErrorCode::kUsage, fmt::format("no built-in dictionary '{}'", wanted),
        "builtin:mxnet, builtin:pytorch, builtin:jax, builtin:xla, builtin:driver or builtin:log");
  }
  return *it;
}

}  // namespace memtool::formats
