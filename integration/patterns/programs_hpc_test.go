package patterns

import (
	"fmt"
	"os"
)

// lammps: each rank its own file, rank 0 the base first; no marker.
func lammps(r *rank, k int) {
	step := 50 * k
	if r.n == 0 {
		r.put(fmt.Sprintf("pp.%d.base.restart", step), fmt.Sprint("base", k), 3000)
	}
	r.put(fmt.Sprintf("pp.%d.%d.restart", step, r.n), fmt.Sprint("pp", k, r.n), 60000+r.n)
	r.text(fmt.Sprintf("log.%d.lammps", r.n), fmt.Sprint(k))
}

// alternating: rank 0 rewrites the older of two files from the start.
func alternating(r *rank, k int) {
	if r.n == 0 {
		r.put([]string{"alt.a.restart", "alt.b.restart"}[k%2], fmt.Sprint("alt", k), 50000+1000*k)
	}
}

// gromacs: rank 0 writes most of the file, fsyncs, writes the rest; the old
// file is copied before it is replaced.
func gromacs(r *rank, k int) {
	if r.n != 0 {
		return
	}
	f := r.open(fmt.Sprintf("state_step%d.cpt", 100*k), os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	b := data(fmt.Sprint("cpt", k), 64692)
	_, err := f.Write(b[:61440])
	check(err)
	log := r.open("md.log", os.O_WRONLY|os.O_CREATE|os.O_APPEND)
	_, err = fmt.Fprintf(log, "step %d\n", 100*k)
	check(err)
	check(log.Sync())
	check(log.Close())
	check(f.Sync())
	_, err = f.Write(b[61440:])
	check(err)
	check(f.Close())
	if r.exists("state.cpt") {
		r.copyFile("state.cpt", "state_prev.cpt")
	}
	r.rename(fmt.Sprintf("state_step%d.cpt", 100*k), "state.cpt")
}

// openfoam: each rank its own directory of the time, the oldest removed after.
func openfoam(r *rank, k int) {
	dir := func(k int) string { return fmt.Sprintf("processor%d/0.%d", r.n, k) }
	r.mkdir(dir(k) + "/uniform")
	r.put(dir(k)+"/uniform/time", fmt.Sprint("time", k, r.n), 300)
	for _, field := range []string{"U", "p", "phi"} {
		r.put(dir(k)+"/"+field, fmt.Sprint(field, k, r.n), 9000)
	}
	if k > 2 {
		r.removeAll(dir(k - 2))
	}
}

// amrex: several ranks append to one file in turn; the directory is renamed.
func amrex(r *rank, k int) {
	dir, final := fmt.Sprintf("chk%05d.temp", 10*k), fmt.Sprintf("chk%05d", 10*k)
	if r.n == 0 {
		r.mkdir(dir + "/Level_0")
	}
	r.at("made")
	for turn := range r.world {
		if r.n == turn {
			flag := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
			if turn > 1 {
				flag = os.O_WRONLY | os.O_APPEND
			}
			r.fill(r.open(fmt.Sprintf("%s/Level_0/Cell_D_%05d", dir, turn%2), flag), fmt.Sprint("cell", k, r.n), 20000)
		}
		r.at("turn")
	}
	if r.n == 0 {
		r.put(dir+"/Level_0/Cell_H", fmt.Sprint("cellh", k), 500)
		r.put(dir+"/Header", fmt.Sprint("header", k), 900)
		r.rename(dir, final)
	}
}

// flash: one file of all ranks; the others open it without O_CREAT.
func flash(r *rank, k int) {
	name := fmt.Sprintf("flash_hdf5_chk_%04d", k)
	const slab = 30000
	var f *os.File
	if r.n == 0 {
		f = r.open(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
		_, err := f.WriteAt(make([]byte, 96), 0)
		check(err)
	}
	r.at("made")
	if r.n != 0 {
		f = r.open(name, os.O_RDWR)
	}
	_, err := f.WriteAt(data(fmt.Sprint("slab", k, r.n), slab), int64(2048+slab*r.n))
	check(err)
	r.at("slabs")
	_, err = f.WriteAt(data(fmt.Sprint("meta", k, r.n), 200), int64(96+200*r.n))
	check(err)
	r.at("metadata")
	if r.n == 0 {
		_, err = f.WriteAt(data(fmt.Sprint("super", k), 96), 0)
		check(err)
		check(f.Truncate(int64(2048 + slab*r.world)))
	}
	check(f.Close())
}

// cp2k: rank 0 rotates backups, then writes the file anew, without O_TRUNC.
func cp2k(r *rank, k int) {
	if r.n != 0 {
		return
	}
	const x = "h2-1.restart"
	if r.exists(x + ".bak-2") {
		r.remove(x + ".bak-2")
	}
	r.renameIfThere(x+".bak-1", x+".bak-2")
	r.renameIfThere(x, x+".bak-1")
	r.fill(r.open(x, os.O_WRONLY|os.O_CREATE), fmt.Sprint("cp2k", k), 40000)
}

// namd: as cp2k, with several files.
func namd(r *rank, k int) {
	if r.n != 0 {
		return
	}
	for _, x := range []string{"coor", "vel", "xsc"} {
		x = "run.restart." + x
		r.renameIfThere(x, x+".old")
		r.put(x, fmt.Sprint(x, k), 30000)
	}
}

// qe: in place over the only copy, per rank scratch beside it.
func qe(r *rank, k int) {
	if r.n == 0 {
		r.mkdir("si.save")
		f := r.open("si.save/charge-density.dat", os.O_RDWR|os.O_CREATE)
		_, err := f.WriteAt(data(fmt.Sprint("charge", k), 12000), 0)
		check(err)
		check(f.Truncate(12000))
		check(f.Close())
		r.put("si.save/test0", "test", 1)
		r.remove("si.save/test0")
	}
	r.put(fmt.Sprintf("si.wfc%d", r.n), fmt.Sprint("wfc", k, r.n), 7000)
}

// vasp: files of fixed names, rewritten in place.
func vasp(r *rank, k int) {
	if r.n != 0 {
		return
	}
	f := r.open("WAVECAR", os.O_RDWR|os.O_CREATE)
	_, err := f.WriteAt(data(fmt.Sprint("wave", k), 8000), 4000)
	check(err)
	check(f.Close())
	r.put("CHGCAR", fmt.Sprint("chg", k), 9000)
	r.put("CONTCAR", fmt.Sprint("cont", k), 1000)
}

// nwchem: one data base in place, and what probes for a directory.
func nwchem(r *rank, k int) {
	if r.n != 0 {
		return
	}
	f := r.open("h2o.db", os.O_RDWR|os.O_CREATE)
	_, err := f.WriteAt(data(fmt.Sprint("db", k), 3000), int64(5000*(k%3)))
	check(err)
	check(f.Close())
	r.put("dir_check_0", "probe", 1)
	r.remove("dir_check_0")
	r.put("h2o.movecs", fmt.Sprint("movecs", k), 2000)
}
