"""JAX on a GPU: a leak by list, profiles of device memory, a trace, dumps of the compiled programs.

usage: jax_train.py FOLDER
"""
import json
import os
import sys

import jax
import jax.numpy as jnp


def init(key, width, layers):
    return [jax.random.normal(k, (width, width)) * 0.02 for k in jax.random.split(key, layers)]


def forward(params, x):
    for w in params:
        x = jax.nn.gelu(x @ w) + x
    return x


def loss(params, x):
    return jnp.mean(forward(params, x) ** 2)


@jax.jit
def train_step(params, momentum, x):
    value, grads = jax.value_and_grad(loss)(params, x)
    momentum = [0.9 * m + g for m, g in zip(momentum, grads)]
    return [p - 1e-3 * m for p, m in zip(params, momentum)], momentum, value


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    device = jax.local_devices()[0]
    params = init(jax.random.PRNGKey(0), 2048, 8)
    momentum = [jnp.zeros_like(p) for p in params]
    x = jax.random.normal(jax.random.PRNGKey(1), (4096, 2048))
    history, stats = [], []
    for step in range(1, 7):
        if step == 4:
            jax.profiler.start_trace(folder)
        params, momentum, value = train_step(params, momentum, x)
        history.append(forward(params[:2], x))  # kept, step after step
        jax.block_until_ready((params, history))
        if step == 5:
            jax.profiler.stop_trace()
        if step in (1, 3, 6):
            jax.profiler.save_device_memory_profile(f"{folder}/step{step}.prof")
        stats.append(device.memory_stats())
    compiled = train_step.lower(params, momentum, x).compile()
    with open(f"{folder}/stats.json", "w") as out:
        json.dump({"jax": jax.__version__, "memory_stats": stats,
                   "memory_analysis": str(compiled.memory_analysis())}, out, indent=1)
    print(compiled.memory_analysis())


if __name__ == "__main__":
    main()
