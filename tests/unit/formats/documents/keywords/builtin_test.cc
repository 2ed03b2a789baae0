// Each word of each built-in dictionary, by an example: a stack as the project that the word is
// about makes it, from the root, and the category that it belongs to. A word without an example
// fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "memtool/formats/keywords.h"
#include "memtool/profile/rows/buckets.h"
#include "memtool/profile/select/stack_sums.h"
#include "memtool/profile/select/value_choice.h"
#include "memtool/profile/select/view.h"
#include "support/make_profile.h"

namespace memtool::formats {
namespace {

using ::testing::IsEmpty;

struct Example {
  std::string_view stack;
  std::string_view category;
  std::string_view labels = "";
};

const std::vector<Example> kPytorchExamples{
    // Communication
    {"step@train.py;c10d::ProcessGroupNCCL::allreduce", "Communication"},
    {"main;nccl_buffer@lib.py", "Communication"},
    {"step@train.py;all_reduce@/sp/torch/distributed/distributed_c10d.py", "Communication"},
    {"f@m.py;get_symm_mem_workspace@/sp/torch/distributed/_symmetric_memory/__init__.py",
     "Communication"},
    {"backward@x.py;inference_all_reduce@/sp/deepspeed/comm/comm.py", "Communication"},
    {"forward@m.py;__init__@/sp/vllm/distributed/device_communicators/custom_all_reduce.py",
     "Communication"},
    {"a@m.py;create_shared_buffer@/sp/sglang/srt/distributed/device_communicators/"
     "custom_all_reduce.py",
     "Communication"},
    // Workspace
    {"forward@m.py;at::native::conv;Workspace::Workspace(unsigned long)", "Workspace"},
    {"forward@m.py;at::cuda::getCurrentCUDABlasHandle()", "Workspace"},
    {"forward@m.py;at::cuda::blas::gemm_and_bias;cublasLtMatmul", "Workspace"},
    {"forward@conv.py;at::native::run_conv_plan(cudnnContext*)", "Workspace"},
    {"call@/tmp/torchinductor_me/ab/cab.py;benchmark@/sp/torch/_inductor/select_algorithm.py",
     "Workspace"},
    {"f@m.py;benchmark@/sp/torch/_inductor/autotune_process.py", "Workspace"},
    {"forward@m.py;clone_args@/sp/torch/_inductor/runtime/triton_heuristics.py", "Workspace"},
    {"forward@m.py;_bench@/sp/triton/runtime/autotuner.py", "Workspace"},
    {"forward@m.py;do_bench@/sp/triton/testing.py", "Workspace"},
    {"(before recording)", "Workspace", "use=workspace"},
    // KV cache
    {"initialize_cache@worker.py;__init__@cache.py;_allocate_kv_cache@/sp/vllm/worker/"
     "cache_engine.py",
     "KV cache"},
    {"initialize_kv_cache@/sp/vllm/v1/worker/gpu_model_runner.py;"
     "_allocate_kv_cache_tensors@/sp/vllm/v1/worker/gpu_model_runner.py",
     "KV cache"},
    {"build@lmdeploy.py;allocate_gpu@/sp/lmdeploy/pytorch/engine/cache_engine.py", "KV cache"},
    {"_call_impl@/sp/torch/nn/modules/module.py;append@/home/me/model/kv_cache.py", "KV cache"},
    {"main@gen.py;setup_caches@model.py;__init__@model.py", "KV cache"},
    {"init_memory_pool@/sp/sglang/srt/model_executor/model_runner.py;"
     "_create_buffers@/sp/sglang/srt/mem_cache/memory_pool.py",
     "KV cache"},
    {"run;_allocate_memory_buffer@/sp/megatron/core/inference/contexts/dynamic_context.py",
     "KV cache"},
    {"generate@g.py;_call_impl@/sp/torch/nn/modules/module.py;forward@m.py;"
     "update@/sp/transformers/cache_utils.py",
     "KV cache"},
    // CUDA graphs
    {"warm_up@w.py;capture_model@/sp/vllm/v1/worker/gpu_model_runner.py;forward@m.py",
     "CUDA graphs"},
    {"step@t.py;run@/sp/torch/_inductor/cudagraph_trees.py;call@/tmp/torchinductor_me/ab/c.py",
     "CUDA graphs"},
    {"t@t.py;make_graphed_callables@/sp/torch/cuda/graphs.py", "CUDA graphs"},
    // Parameter and gradient buffers
    {"get_model@engine.py;__init__@ddp.py;"
     "__init__@/sp/megatron/core/distributed/param_and_grad_buffer.py",
     "Parameter and gradient buffers"},
    {"update_actor@w.py;load_megatron_model_to_gpu@/sp/verl/utils/megatron_utils.py",
     "Parameter and gradient buffers"},
    // Gathered parameters
    {"_call_impl@/sp/torch/nn/modules/module.py;"
     "_pre_forward_unshard@/sp/torch/distributed/fsdp/_runtime_utils.py",
     "Gathered parameters"},
    {"_call_impl@/sp/torch/nn/modules/module.py;"
     "unshard@/sp/torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py;"
     "foreach_all_gather@/sp/torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py",
     "Gathered parameters"},
    {"_call_impl@/sp/torch/nn/modules/module.py;"
     "alloc_all_gather_outputs@/sp/torch/distributed/_composable/fsdp/_fsdp_param.py",
     "Gathered parameters"},
    {"_call_impl@/sp/torch/nn/modules/module.py;"
     "fetch_sub_module@/sp/deepspeed/runtime/zero/partitioned_param_coordinator.py",
     "Gathered parameters"},
    {"gather@g.py;_allgather_params_coalesced@/sp/deepspeed/runtime/zero/partition_parameters.py",
     "Gathered parameters"},
    {"new_forward@/sp/accelerate/hooks.py;pre_forward@/sp/accelerate/hooks.py;"
     "set_module_tensor_to_device@/sp/accelerate/utils/modeling.py",
     "Gathered parameters"},
    {"_call_impl@/sp/torch/nn/modules/module.py;"
     "_onload_from_memory@/sp/diffusers/hooks/group_offloading.py",
     "Gathered parameters"},
    {"r@r.py;update_weights_from_ipc@/sp/verl/workers/rollout/vllm_rollout/utils.py",
     "Gathered parameters"},
    {"r@r.py;prepare@/sp/verl/checkpoint_engine/nccl_checkpoint_engine.py", "Gathered parameters"},
    // Activations
    {"training_step@/sp/transformers/trainer.py;forward@model.py", "Activations"},
    {"compute_log_prob@w.py;_forward_micro_batch@/sp/verl/workers/actor/dp_actor.py",
     "Activations"},
    {"train@t.py;_call_impl@/sp/torch/nn/modules/module.py;attend@m.py", "Activations"},
    {"training_step@/sp/transformers/trainer.py;compute_loss@/sp/transformers/trainer.py",
     "Activations"},
    {"_generate_and_score_completions@/sp/trl/trainer/grpo_trainer.py;"
     "_get_per_token_logps_and_entropies@/sp/trl/trainer/grpo_trainer.py",
     "Activations"},
    {"step@t.py;linear@/sp/torch/nn/functional.py", "Activations"},
    {"_prepare_inputs@/sp/trl/trainer/grpo_trainer.py;_sample@/sp/transformers/generation/utils.py",
     "Activations"},
    {"infer@t.py;call@/tmp/torchinductor_me/ab/cab.py", "Activations"},
    {"infer@t.py;call@/home/me/.cache/vllm/torch_compile_cache/1/inductor_cache/ab/cab.py",
     "Activations"},
    {"infer@t.py;__call__@/sp/torch/_inductor/output_code.py", "Activations"},
    {"infer@t.py;runtime_wrapper@/sp/torch/_functorch/_aot_autograd/runtime_wrappers.py",
     "Activations"},
    {"infer@t.py;_fn@/sp/torch/_dynamo/eval_frame.py;step@t.py", "Activations"},
    {"evaluation_loop@/sp/transformers/trainer.py;nested_concat@/sp/transformers/"
     "trainer_pt_utils.py",
     "Activations"},
    {"training_step@t.py;_generate_and_score_completions@/sp/trl/trainer/grpo_trainer.py",
     "Activations"},
    {"fit@t.py;update_policy@/sp/verl/workers/actor/dp_actor.py", "Activations"},
    {"fit@t.py;entropy_from_logits@/sp/verl/utils/torch_functional.py", "Activations"},
    {"w@w.py;profile_run@/sp/vllm/v1/worker/gpu_model_runner.py", "Activations"},
    {"main@m.py;__call__@/sp/diffusers/pipelines/flux/pipeline_flux.py;"
     "prepare_latents@/sp/diffusers/pipelines/flux/pipeline_flux.py",
     "Activations"},
    {"main@m.py;step@/sp/diffusers/schedulers/scheduling_ddim.py", "Activations"},
    {"main@m.py;tiled_decode@/sp/diffusers/models/autoencoders/autoencoder_kl.py", "Activations"},
    // Gradients
    {"torch::autograd::Engine::thread_init;at::native::mm", "Backward temporaries",
     "backward=temporary"},
    {"torch::autograd::Engine::thread_init;at::native::mm", "Gradients"},
    {"torch::autograd::AccumulateGrad::apply", "Gradients"},
    {"MmBackward0::apply", "Gradients"},
    {"step@t.py;backward@/sp/deepspeed/runtime/engine.py", "Gradients"},
    {"backward@/sp/torch/_functorch/_aot_autograd/runtime_wrappers.py;"
     "call@/tmp/torchinductor_me/ab/cab.py",
     "Gradients"},
    {"f@f.py;grad@/sp/torch/autograd/__init__.py", "Gradients"},
    {"f@f.py;_engine_run_backward@/sp/torch/autograd/graph.py", "Gradients"},
    {"step@/sp/torch/optim/adamw.py;decorate_context@/sp/torch/autograd/grad_mode.py",
     "Optimizer state"},
    {"_post_backward_hook@/sp/torch/distributed/fsdp/_runtime_utils.py;"
     "_reduce_grad@/sp/torch/distributed/fsdp/_runtime_utils.py",
     "Gradients"},
    {"__init__@/sp/torch/nn/parallel/distributed.py;"
     "_ddp_init_helper@/sp/torch/nn/parallel/distributed.py",
     "Gradients"},
    {"b@b.py;reduce_independent_p_g_buckets@z.py;"
     "copy_grads_in_partition@/sp/deepspeed/runtime/zero/stage_1_and_2.py",
     "Gradients"},
    {"step@/sp/megatron/core/optimizer/optimizer.py;"
     "_copy_model_grads_to_main_grads@/sp/megatron/core/optimizer/optimizer.py",
     "Gradients"},
    {"__init__@e.py;_setup_for_real_optimizer@/sp/deepspeed/runtime/zero/stage3.py", "Gradients"},
    {"(before recording)", "Gradients", "use=gradient"},
    // Optimizer state
    {"(before recording)", "Optimizer state", "use=optimizer_state"},
    {"_setup_for_real_optimizer@/sp/deepspeed/runtime/zero/stage3.py;"
     "initialize_optimizer_states@/sp/deepspeed/runtime/zero/stage3.py",
     "Optimizer state"},
    {"wrapper@/sp/torch/optim/optimizer.py;step@mine.py", "Optimizer state"},
    {"call@/tmp/torchinductor_me/ab/cab.py;step@\\sp\\torch\\optim\\adam.py", "Optimizer state"},
    {"l@l.py;_flatten_optim_state@/sp/torch/distributed/fsdp/_optim_utils.py", "Optimizer state"},
    {"s@s.py;step@/sp/apex/optimizers/fused_adam.py", "Optimizer state"},
    {"s@s.py;init_state@/sp/bitsandbytes/optim/optimizer.py", "Optimizer state"},
    {"s@s.py;_new_buffer@/sp/torchao/optim/adam.py", "Optimizer state"},
    {"s@s.py;step@/sp/transformers/optimization.py", "Optimizer state"},
    {"s@s.py;initialize_state@/sp/transformer_engine/pytorch/optimizers/fused_adam.py",
     "Optimizer state"},
    {"get_optimizer@engine.py;"
     "_build_model_and_main_param_groups@/sp/megatron/core/optimizer/distrib_optimizer.py",
     "Optimizer state"},
    {"s@s.py;step@/sp/deepspeed/ops/adam/fused_adam.py", "Optimizer state"},
    {"s@s.py;step@/sp/deepspeed/ops/lamb/fused_lamb.py", "Optimizer state"},
    {"s@s.py;step@/sp/deepspeed/ops/lion/fused_lion.py", "Optimizer state"},
    {"i@i.py;__init__@/sp/deepspeed/runtime/bf16_optimizer.py", "Optimizer state"},
    {"i@i.py;__init__@/sp/deepspeed/runtime/fp16/fused_optimizer.py", "Optimizer state"},
    {"update_actor@w.py;load_fsdp_optimizer@/sp/verl/utils/fsdp_utils.py", "Optimizer state"},
    {"i@i.py;__init__@/sp/deepspeed/runtime/zero/stage_1_and_2.py", "Optimizer state"},
    // Input data
    {"train@/sp/transformers/trainer.py;_prepare_inputs@/sp/transformers/trainer.py", "Input data"},
    {"__iter__@/sp/accelerate/data_loader.py;send_to_device@/sp/accelerate/utils/operations.py",
     "Input data"},
    {"t@t.py;default_collate@/sp/torch/utils/data/_utils/collate.py", "Input data"},
    {"__init__@r.py;__init__@/sp/vllm/v1/worker/gpu_input_batch.py", "Input data"},
    {"__init__@r.py;__init__@/sp/vllm/v1/worker/block_table.py", "Input data"},
    {"__init__@r.py;create@/sp/sglang/srt/model_executor/input_buffers.py", "Input data"},
    // Parameters
    {"(before recording)", "Parameters", "use=parameter"},
    {"main@m.py;__init__@/sp/torch/nn/modules/linear.py", "Parameters"},
    {"main@m.py;convert@\\venv\\Lib\\site-packages\\torch\\nn\\modules\\module.py", "Parameters"},
    {"main@m.py;__new__@/sp/torch/nn/parameter.py", "Parameters"},
    {"main@m.py;trunc_normal_@/sp/torch/nn/init.py", "Parameters"},
    {"main@m.py;load@/sp/torch/serialization.py", "Parameters"},
    {"wrap@m.py;flatten_tensors@/sp/torch/distributed/fsdp/_flat_param.py", "Parameters"},
    {"wrap@m.py;_init_sharded_param@/sp/torch/distributed/_composable/fsdp/_fsdp_param.py",
     "Parameters"},
    {"wrap@m.py;distribute_tensor@/sp/torch/distributed/tensor/_api.py", "Parameters"},
    {"main@m.py;load_file@/sp/safetensors/torch.py", "Parameters"},
    {"dispatch_model@/sp/accelerate/big_modeling.py;"
     "set_module_tensor_to_device@/sp/accelerate/utils/modeling.py",
     "Parameters"},
    {"inject_adapter@p.py;update_layer@/sp/peft/tuners/lora/layer.py", "Parameters"},
    {"main@m.py;_quantize@/sp/bitsandbytes/nn/modules.py", "Parameters"},
    {"main@m.py;__init__@/sp/transformer_engine/pytorch/module/linear.py", "Parameters"},
    {"get_model@m.py;__init__@/sp/megatron/core/tensor_parallel/layers.py", "Parameters"},
    {"__init__@m.py;wrapper@/sp/deepspeed/runtime/zero/partition_parameters.py", "Parameters"},
    {"load_model@w.py;initialize_model@/sp/vllm/model_executor/model_loader/utils.py",
     "Parameters"},
    {"m@m.py;create_lora_weights@/sp/vllm/lora/layers/base_linear.py", "Parameters"},
    {"load_model@r.py;_initialize_model@/sp/sglang/srt/model_loader/loader.py", "Parameters"},
    {"m@m.py;process_weights_after_loading@/sp/sglang/srt/layers/quantization/fp8.py",
     "Parameters"},
    {"main@m.py;state_dict_to_gpu@m.py", "Parameters"},
    {"init_model@w.py;load_fsdp_model_to_gpu@/sp/verl/utils/fsdp_utils.py", "Parameters"},
    {"main@m.py;from_pretrained@/sp/diffusers/pipelines/pipeline_utils.py;copy@m.py", "Parameters"},
    {"__init__@/sp/trl/trainer/dpo_trainer.py;create_reference_model@/sp/trl/models/utils.py",
     "Parameters"},
    {"main@m.py;_initialize_affine_weight_gpu@layers.py", "Parameters"},
    {"main@m.py;__init__@model.py;__init__@attention.py;__init__@linear.py;empty@device.py",
     "Parameters"},
    // What nothing tells.
    {"main@m.py;__init__@replay_buffer.py", "Others"},
    {"main@bench/kv_cache_sizes.py;make@m.py", "Others"},
    {"__init__@trainer.py;make_noise@n.py;__init__@n.py", "Others"},
    {"(before recording)", "Unknown"},
    {"", "Unknown"},
    // What a timeline says itself
    {"Activation", "Activations", "category=Activation"},
    {"Gradient", "Gradients", "category=Gradient"},
    {"Optimizer state", "Optimizer state"},
    {"Input", "Input data", "category=Input"},
    {"Temporary", "Temporaries", "category=Temporary"},
    {"Autograd detail", "Autograd detail"},
    {"Parameter", "Parameters", "category=Parameter"},
    {"Unknown", "Unknown", "category=Unknown"},
};

const std::vector<Example> kMxnetExamples{
    {"x", "Optimizer state", "tag=optimizer:momentum"},
    {"x", "Optimizer state", "tag=updater:0"},
    {"x", "Gradients", "tag=arg_grad:w"},
    {"x", "Gradients", "tag=head_grad:0"},
    {"x", "Gradients", "tag=net:conv0_backward"},
    {"x", "Communication", "tag=comm_dev:buf"},
    {"x", "Communication", "tag=kvstore:push"},
    {"x", "Workspace", "tag=workspace:conv"},
    {"x", "Workspace", "tag=op:temp_space"},
    {"x", "Workspace", "tag=op:reserve_space"},
    {"x", "Workspace", "tag=cudnn_rnn:x"},
    {"x", "Workspace", "tag=dropout_state"},
    {"x", "Workspace", "tag=resource:temp"},
    {"x", "Input data", "tag=image_io:batch"},
    {"x", "Input data", "tag=in_arg:data"},
    {"x", "Input data", "tag=in_arg:label"},
    {"x", "Parameters", "tag=in_arg:weight"},
    {"x", "Parameters", "tag=aux_state:bn"},
    {"x", "Parameters", "tag=aux_data:bn"},
    {"x", "Parameters", "tag=init:xavier"},
    {"x", "Unknown", "tag=<unk>:unknown"},
    {"x", "Unknown", "tag=a:<unk>"},
    {"x", "Unknown", "tag=<unk>:_copy"},
    {"x", "Unknown", "tag=untagged"},
    {"x", "Unknown", "tag=ctx_source_unclear"},
    {"x", "Unknown", "tag=csr:data"},
    {"x", "Unknown", "tag=row_sparse:data"},
    {"x", "Activations", "tag=data_entry:3"},
    {"x", "Activations", "tag=forward_features:f"},
    {"x", "Activations", "tag=<ephemeral>"},
    {"x", "Activations", "tag=net:conv0_fwd"},
    {"x", "Others", "tag=something"},
};

const std::vector<Example> kJaxExamples{
    {"train_step@t.py;(rounding)@<allocator>", "Rounding", "category=rounding"},
    {"train_step@t.py", "Compiled programs", "kind=executable"},
    {"train_step@t.py;psum@/sp/jax/_src/lax/parallel.py", "Communication"},
    {"main;init@/sp/optax/_src/transform.py", "Optimizer state"},
    {"main;create@/sp/flax/optim/base.py", "Optimizer state"},
    {"main;init_optimizer@t.py", "Optimizer state"},
    {"train_step@t.py;value_and_grad@t.py", "Gradients"},
    {"main;init_params@m.py", "Parameters"},
    {"main;restore_checkpoint@c.py", "Parameters"},
    {"main;create_train_state@t.py", "Parameters"},
    {"main;init_weights@t.py", "Parameters"},
    {"main;random_params@t.py", "Parameters"},
    {"main;normal@/sp/jax/_src/nn/initializers.py", "Parameters"},
    {"main;__call__@/sp/flax/linen/linear.py", "Activations"},
    {"main;__call__@/sp/haiku/_src/basic.py", "Activations"},
    {"main;__call__@/sp/equinox/nn/_linear.py", "Activations"},
    {"main;predict@m.py", "Activations"},
    {"main;device_put@/sp/jax/_src/api.py", "Input data"},
    {"main;next_batch@d.py", "Input data"},
    {"main;train_step@t.py", "Training state"},
    {"main;full_step@t.py", "Training state"},
    {"main;update@t.py", "Training state"},
    {"", "Unknown"},
    {"main@m.py", "Others"},
};

const std::vector<Example> kXlaExamples{
    {"train_step@t.py;(rounding)@<allocator>", "Rounding", "region=output category=rounding"},
    {"dot;jit_f", "Parameters", "category=parameter"},
    {"train_step@t.py;(rounding)@<allocator>", "Rounding", "category=rounding"},
    {"p0", "Parameters", "kind=argument"},
    {"fusion", "Outputs", "category=output"},
    {"MatMul", "Outputs", "region=output"},
    {"c", "Constants", "category=constant"},
    {"fusion", "Temporaries", "category=temporary"},
    {"fusion", "Temporaries", "category=thread-local"},
    {"fusion", "Temporaries", "kind=temporary"},
    {"Conv2D", "Temporaries", "region=temp"},
    {"(not listed)", "Temporaries or outputs", "kind=not~listed"},
    {"fusion", "Temporaries or outputs", "kind=temporary~or~output"},
    {"(held by other programs and arrays)", "Other programs and arrays", "kind=heap"},
    {"(reserved by the system)", "Reserved by the system", "kind=reserved"},
    {"main;train_step@t.py;update@/sp/optax/_src/transform.py", "Optimizer state"},
    {"main;value_and_grad@t.py", "Gradients"},
    {"main;__call__@/sp/flax/linen/linear.py", "Activations"},
    {"main;__call__@/sp/haiku/_src/basic.py", "Activations"},
    {"main;__call__@/sp/equinox/nn/_linear.py", "Activations"},
    {"main;forward@m.py", "Activations"},
    {"main;forward@m.py", "Temporaries", "category=temporary"},
    {"main;train_step@t.py", "Training state"},
    {"main;update@t.py", "Training state"},
    {"(before recording)", "Unknown"},
    {"", "Unknown"},
    {"main@m.py", "Others"},
};

const std::vector<Example> kDriverExamples{
    {"main;cudaMallocHost", "Pinned host memory", "device=host"},
    {"main;cudaGraphInstantiate;ncclAlloc", "Graphs"},
    {"main;ncclCommInitRank", "NCCL"},
    {"main;init!/usr/lib/libnccl.so.2", "NCCL"},
    {"main;init!/opt/rocm/lib/librccl.so.1", "NCCL"},
    {"main;nvshmem_malloc", "NVSHMEM, UCX and MPI"},
    {"main;ucp_mem_map", "NVSHMEM, UCX and MPI"},
    {"main;init!/usr/lib/libnvshmem_host.so", "NVSHMEM, UCX and MPI"},
    {"main;init!/usr/lib/libucp.so", "NVSHMEM, UCX and MPI"},
    {"main;init!/usr/lib/libmpi.so", "NVSHMEM, UCX and MPI"},
    {"main;cudnnCreate", "cuDNN and MIOpen"},
    {"main;x!/usr/lib/libcudnn.so.9", "cuDNN and MIOpen"},
    {"main;x!/opt/rocm/lib/libMIOpen.so", "cuDNN and MIOpen"},
    {"main;cublasCreate_v2", "BLAS"},
    {"main;x!/usr/lib/libcublas.so.12", "BLAS"},
    {"main;x!/opt/rocm/lib/librocblas.so", "BLAS"},
    {"main;x!/opt/rocm/lib/libhipblas.so", "BLAS"},
    {"main;x!libcufft.so", "Other math libraries"},
    {"main;x!libcusolver.so", "Other math libraries"},
    {"main;x!libcusparse.so", "Other math libraries"},
    {"main;x!libcurand.so", "Other math libraries"},
    {"main;x!libnvjpeg.so", "Other math libraries"},
    {"main;x!libnppc.so", "Other math libraries"},
    {"main;x!libnvinfer.so", "Other math libraries"},
    {"main;x!librocfft.so", "Other math libraries"},
    {"main;x!librocsolver.so", "Other math libraries"},
    {"main;x!librocsparse.so", "Other math libraries"},
    {"main;x!libcudf.so", "Other math libraries"},
    {"main;x!librmm.so", "Other math libraries"},
    {"main;x!libcupy.so", "Other math libraries"},
    {"main;c10::cuda::CUDACachingAllocator::alloc", "Framework's allocator"},
    {"main;CUDAMallocAsyncAllocator::malloc", "Framework's allocator"},
    {"main;tsl::BFCAllocator::Extend", "Framework's allocator"},
    {"main;GpuCudaMallocAsyncAllocator::Allocate", "Framework's allocator"},
    {"main;stream_executor::Allocate", "Framework's allocator"},
    {"main;mxnet::storage::Alloc", "Framework's allocator"},
    {"(before recording)", "Unknown"},
    {"", "Unknown"},
    {"main", "Others"},
};

// What is wrong with a dictionary's examples: one line each.
std::vector<std::string> Faults(std::string_view name, const std::vector<Example>& examples) {
  std::vector<std::string> faults;
  const Keywords keywords =
      *Keywords::Compile(ReadKeywords("builtin:" + std::string(name))->dictionary);
  std::vector<char> shown(keywords.places().size());
  for (const Example& example : examples) {
    const Recording recording =
        test::ProfileMaker().Sample(example.stack, {1, 100}, example.labels).Finish();
    const Filter filter = *Filter::Compile(test::AllFrames());
    const View view(recording, filter);
    const ValueChoice choice = *ChooseValue(recording, "");
    const StackSums sums = SumByStack(view, choice);
    NodeSpace space;
    BucketTable table(keywords, Multi::kFirst, space);
    EXPECT_TRUE(table.Add({.view = &view, .sums = &sums, .choice = &choice, .name = "in"}));
    for (const Bucket& bucket : table.AxisAt(0).buckets) {
      if (bucket.sum.bytes != 0 && bucket.name != example.category) {
        faults.push_back(std::string(example.stack) + " is " + bucket.name);
      }
    }
    const std::vector<std::int64_t> bytes = table.WordBytes();
    for (std::uint32_t word = 0; word < bytes.size(); ++word) {
      const auto& category =
          keywords.dictionary().axes[0].categories[keywords.places()[word].category];
      shown[word] |= static_cast<char>(bytes[word] != 0 && category.name == example.category);
    }
  }
  for (std::uint32_t word = 0; word < shown.size(); ++word) {
    if (shown[word] == 0) {
      faults.push_back("no example: " + keywords.word(word).written);
    }
  }
  return faults;
}

TEST(BuiltinKeywords, EachWordHasAnExample) {
  EXPECT_THAT(Faults("pytorch", kPytorchExamples), IsEmpty());
  EXPECT_THAT(Faults("mxnet", kMxnetExamples), IsEmpty());
  EXPECT_THAT(Faults("jax", kJaxExamples), IsEmpty());
  EXPECT_THAT(Faults("xla", kXlaExamples), IsEmpty());
  EXPECT_THAT(Faults("driver", kDriverExamples), IsEmpty());
  // The test can fail.
  EXPECT_THAT(Faults("jax", {{"main;psum@lax.py", "Gradients"}}),
              ::testing::SizeIs(testing::Gt(20)));
}

}  // namespace
}  // namespace memtool::formats
