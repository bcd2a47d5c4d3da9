"""Trains a small network and saves it each second step.

usage: train.py MODE DIR STEPS
MODE every: each rank writes ckpt_<step>_rank<rank>.pt
MODE atomic: one file, written as ckpt.pt.tmp, synced and renamed to ckpt.pt
It goes on from the newest checkpoint in DIR, up to STEPS, and prints the loss
of each step with all its digits.
"""
import os
import sys

import torch

mode, directory, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", "0"))
torch.set_num_threads(1)
torch.manual_seed(rank)
net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
adam = torch.optim.Adam(net.parameters(), 1e-3)


def name(step):
    if mode == "every":
        return os.path.join(directory, "ckpt_%d_rank%d.pt" % (step, rank))
    return os.path.join(directory, "ckpt.pt")


def newest():
    if mode == "atomic":
        return name(0) if os.path.exists(name(0)) else None
    done = [int(f.split("_")[1]) for f in os.listdir(directory) if f.endswith("_rank%d.pt" % rank)]
    return name(max(done)) if done else None


step = 0
last = newest()
if last:
    state = torch.load(last)
    net.load_state_dict(state["net"])
    adam.load_state_dict(state["adam"])
    step = state["step"]
while step < steps:
    step += 1
    draw = torch.Generator().manual_seed(1000 * step + rank)
    x = torch.randn(32, 64, generator=draw)
    loss = torch.nn.functional.cross_entropy(net(x), x[:, :10].argmax(1))
    adam.zero_grad()
    loss.backward()
    adam.step()
    print("rank %d step %d loss %.17g" % (rank, step, loss.item()), flush=True)
    if step % 2:
        continue
    state = {"net": net.state_dict(), "adam": adam.state_dict(), "step": step}
    if mode == "every":
        torch.save(state, name(step))
    else:
        with open(name(step) + ".tmp", "wb") as f:
            torch.save(state, f)
            f.flush()
            os.fsync(f.fileno())
        os.replace(name(step) + ".tmp", name(step))
