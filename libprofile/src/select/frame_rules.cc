#include "memtool/profile/select/frame_rules.h"

namespace memtool {

namespace {

FrameRules MakeBuiltin() {
  FrameRules rules;
  rules.layers.emplace_back().not_own = {
      {"PyTorch",
       {"torch", "torchgen", "functorch", "torchvision", "torchaudio", "torchtext", "torch_xla",
        "torch_npu", "torchao", "torchrec", "triton",
        R"(/(?:^|/)torch/(?:nn/|_|optim/|utils/|autograd|cuda/|distributed/|functional\.py|csrc/)/)"}},
      {"Code that compilers made",
       {"/torchinductor/", "/^<eval_with_key>/", "/^__compiled_fn_/", "/^dynamo__/"}},
      {"JAX",
       {"jax", "jaxlib", "flax", "optax", "haiku", "equinox", "chex", "orbax", "diffrax",
        R"(/(?:^|/)(?:jax/(?:_src|interpreters|experimental)|jaxlib)/)"}},
      {"TensorFlow and Keras",
       {"tensorflow", "tensorflow_core", "keras", R"(/(?:^|/)tensorflow/python/)"}},
      {"MXNet", {"mxnet", "gluonnlp", "gluoncv", R"(/(?:^|/)python/mxnet/)"}},
      {"Models and training",
       {"transformers", "accelerate", "peft", "trl", "diffusers", "lightning", "pytorch_lightning",
        "lightning_fabric", "deepspeed", "vllm", "xformers", "flash_attn", "apex", "bitsandbytes",
        "unsloth", "sglang"}},
      {"Numbers", {"numpy", "scipy", "einops", "opt_einsum", "pandas"}},
      {"Notebooks",
       {"IPython", "ipykernel", "ipython_genutils", "tornado", "traitlets", "notebook", "nbclient",
        "nbconvert", "zmq", "/(?:^|/)jupyter_/", R"(/(?:^|/)google/colab/)"}},
      {"Around a program",
       {"absl", "click", "typer", "hydra", "fire", "tqdm", "matplotlib", "pytest", "_pytest",
        "pluggy", "wandb", "tensorboard", "debugpy", "/(?:^|/)_?pydevd/",
        R"(/(?:^|/)(?:bin|Scripts)/[^/.]+-script\.py$/)", R"(/(?:^|/)\.bootstrap/)",
        R"(/_stage2_bootstrap\.py$/)"}},
  };
  rules.native = {
      {"Frameworks",
       {"/(?:^|[^A-Za-z0-9_])(?:c10|at|torch|pybind11|xla|tsl|tensorflow|mxnet|caffe2)::/"}},
      {"Runtimes",
       {"/^(?:std|__gnu_cxx)::/", "/^(?:nccl|cudaMalloc|cuMem|cublas|cudnn)/",
        "/^(?:__libc_start|_start|start_thread|clone|gomp_|__restore_rt)/",
        "/^execute_native_thread_routine/"}},
      {"CPython",
       {"/^_?Py(?:_|[A-Z])/", "/^THP/", "/^<built-in /",
        "/^(?:pythread_wrapper|thread_run|run_mod|run_eval_code_obj)/",
        "/^(?:pyrun_|pymain_|builtin_|cfunction_|vectorcall_|method_vectorcall|slot_[mns]|wrap_)/",
        "/^(?:type_call|object_vacall|gen_send_ex|tuple_map|property_descr_)/"}},
  };
  rules.through = {"reraise_with_filtered_traceback",
                   "wrapped_module_method",
                   "_call_wrapped_method",
                   "_call_impl",
                   "_wrapped_call_impl",
                   "_call_user_compiled",
                   "compile_wrapper",
                   "_fn",
                   "decorate_context",
                   "decorate_autocast",
                   "_wrapped",
                   "wrapper"};
  return rules;
}

}  // namespace

const FrameRules& BuiltinFrameRules() {
  static const FrameRules rules = MakeBuiltin();
  return rules;
}

std::string_view RegexOfWord(std::string_view word) {
  const bool regex = word.size() > 2 && word.front() == '/' && word.back() == '/';
  return regex ? word.substr(1, word.size() - 2) : std::string_view{};
}

}  // namespace memtool
