# LAMMPS: a melt, on one rank.
# needs: lmp
prepare() {
    echo 'units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 10 0 10 0 10
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
fix 1 all nve
thermo 50
run 200' > in.melt
}
run() { lmp -in in.melt -log none | sed -n '/^ *Step/,/^Loop/{/^Loop/!p}'; }
"$@"
