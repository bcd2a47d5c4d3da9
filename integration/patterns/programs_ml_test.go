package patterns

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// torchAtomic: every rank writes beside, fsyncs and renames.
func torchAtomic(r *rank, k int) {
	r.atomic(fmt.Sprintf("ckpt_%d_rank%d.pt", k, r.n), fmt.Sprint("torch", k, r.n), 45000)
}

// torchOne: rank 0 replaces its one checkpoint.
func torchOne(r *rank, k int) {
	if r.n == 0 {
		r.atomic("ckpt.pt", fmt.Sprint("torch", k), 45000)
	}
}

// dcp: each rank a file; .metadata is fsync'ed before its bytes are written.
func dcp(r *rank, k int) {
	dir := fmt.Sprintf("step_%d", 10*k)
	r.mkdir(dir)
	f := r.open(fmt.Sprintf("%s/__%d_0.distcp", dir, r.n), os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	_, err := f.Write(data(fmt.Sprint("dcp", k, r.n), 50000))
	check(err)
	check(f.Sync())
	check(f.Close())
	r.at("written")
	if r.n == 0 {
		r.dcpMetadata(dir, k)
	}
}

func (r *rank) dcpMetadata(dir string, k int) {
	f := r.open(dir+"/.metadata.tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	check(f.Sync())
	_, err := f.Write(data(fmt.Sprint("metadata", k), 2500))
	check(err)
	check(f.Close())
	r.rename(dir+"/.metadata.tmp", dir+"/.metadata")
}

// megatron: each rank its own file below one directory, then the tracker in place.
func megatron(r *rank, k int) {
	dir := fmt.Sprintf("iter_%07d/mp_rank_%02d", 10*k, r.n)
	r.mkdir(dir)
	r.put(dir+"/model_optim_rng.pt", fmt.Sprint("megatron", k, r.n), 50000)
	r.at("written")
	if r.n == 0 {
		r.text("latest_checkpointed_iteration.txt", fmt.Sprint(10*k))
	}
}

// megatronDist: as dcp, in a directory that rank 0 alone makes.
func megatronDist(r *rank, k int) {
	dir := fmt.Sprintf("iter_%07d", 10*k)
	if r.n == 0 {
		check(os.Mkdir(r.path(dir), 0o755))
	}
	r.at("made")
	r.put(fmt.Sprintf("%s/__%d_0.distcp", dir, r.n), fmt.Sprint("dist", k, r.n), 50000)
	r.at("written")
	if r.n == 0 {
		r.put(dir+"/common.pt", fmt.Sprint("common", k), 4000)
		r.dcpMetadata(dir, k)
		r.text(dir+"/metadata.json", "{}")
		r.text("latest_checkpointed_iteration.txt", fmt.Sprint(10*k))
	}
}

// deepspeed: every rank its states, latest, and a script copied after it.
func deepspeed(r *rank, k int) {
	dir := fmt.Sprintf("global_step%d", 10*k)
	r.mkdir(dir)
	if r.n == 0 {
		r.put(dir+"/mp_rank_00_model_states.pt", fmt.Sprint("model", k), 60000)
	}
	r.put(fmt.Sprintf("%s/zero_pp_rank_%d_mp_rank_00_optim_states.pt", dir, r.n), fmt.Sprint("zero", k, r.n), 30000)
	r.at("written")
	if r.n == 0 {
		r.text("latest", dir)
		r.text("zero_to_fp32.py", "print()\n")
	}
}

// hf: the Trainer writes into the final directory and removes the oldest.
func hf(r *rank, k int) {
	dir := func(k int) string { return fmt.Sprintf("checkpoint-%d", 10*k) }
	r.mkdir(dir(k))
	if r.n == 0 {
		r.put(dir(k)+"/model.safetensors", fmt.Sprint("model", k), 60000)
		r.put(dir(k)+"/optimizer.pt", fmt.Sprint("optimizer", k), 60000)
		r.put(dir(k)+"/scheduler.pt", fmt.Sprint("scheduler", k), 1000)
	}
	r.put(fmt.Sprintf("%s/rng_state_%d.pth", dir(k), r.n), fmt.Sprint("rng", k, r.n), 15000)
	r.at("written")
	if r.n == 0 {
		r.text(dir(k)+"/trainer_state.json", fmt.Sprint("{}", k))
		if k > 2 {
			r.removeAll(dir(k - 2))
		}
	}
}

// lightning: rank 0 writes a temporary file elsewhere and copies it, since a
// rename from there is EXDEV; then a copy as last.ckpt.
func lightning(r *rank, k int) {
	if r.n != 0 {
		return
	}
	temp, err := os.CreateTemp("", "lightning")
	check(err)
	defer os.Remove(temp.Name())
	_, err = temp.Write(data(fmt.Sprint("lightning", k), 70000))
	check(err)
	_, err = temp.Seek(0, io.SeekStart)
	check(err)
	name := fmt.Sprintf("epoch=%d-step=%d.ckpt", k, 10*k)
	out := r.open(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	_, err = io.Copy(out, temp) // sendfile or copy_file_range, as shutil
	check(err)
	check(out.Close())
	check(temp.Close())
	check(os.Chmod(r.path(name), 0o600))
	if err := os.Remove(r.path("last.ckpt")); !errors.Is(err, fs.ErrNotExist) {
		check(err)
	}
	check(os.Symlink(name, r.path("last.ckpt")))
	if k > 2 {
		r.remove(fmt.Sprintf("epoch=%d-step=%d.ckpt", k-2, 10*(k-2)))
	}
}

// orbax: a temporary directory, files renamed in it, the directory renamed.
func orbax(r *rank, k int) {
	temp := fmt.Sprintf("%d.orbax-checkpoint-tmp", 10*k)
	if r.n == 0 {
		r.mkdir(temp + "/default")
	}
	r.at("made")
	dir := fmt.Sprintf("%s/default/ocdbt.process_%d", temp, r.n)
	r.mkdir(dir + "/d")
	r.atomic(fmt.Sprintf("%s/d/%x", dir, data(fmt.Sprint("hash", k, r.n), 8)), fmt.Sprint("ocdbt", k, r.n), 30000)
	r.atomic(dir+"/manifest.ocdbt", fmt.Sprint("manifest", k, r.n), 600)
	r.at("written")
	if r.n == 0 {
		r.put(temp+"/_METADATA", fmt.Sprint("metadata", k), 3000)
		r.text(temp+"/commit_success.txt", "done")
		r.rename(temp, fmt.Sprint(10*k))
		if k > 2 {
			r.removeAll(fmt.Sprint(10 * (k - 2)))
		}
	}
}

// restarting looks for the newest checkpoint of dcp, reads it and goes on; it
// writes what it found to a bypassed file.
func restarting(r *rank, _ int) {
	if r.n != 0 {
		return
	}
	names := r.list()
	slices.Sort(names)
	var whole []string
	for _, name := range names {
		if strings.HasPrefix(name, "step_") || strings.HasPrefix(name, "pp.") {
			whole = append(whole, name)
		}
	}
	r.text("found.txt", strings.Join(whole, " "))
}
