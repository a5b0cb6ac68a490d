# GROMACS: a box of water, two OpenMP threads.
# needs: gmx
prepare() {
    gmx -quiet solvate -cs spc216.gro -box 2 2 2 -o conf.gro > prepare.log 2>&1
    echo "#include \"oplsaa.ff/forcefield.itp\"
#include \"oplsaa.ff/spce.itp\"
[ system ]
Water
[ molecules ]
SOL $(grep -c OW conf.gro)" > topol.top
    echo 'integrator = md
nsteps = 100
dt = 0.002
nstenergy = 50
nstlog = 50
cutoff-scheme = Verlet
coulombtype = PME
rcoulomb = 0.9
rvdw = 0.9
gen-vel = yes
gen-seed = 7
constraints = h-bonds' > grompp.mdp
    gmx -quiet grompp -maxwarn 5 -o topol.tpr >> prepare.log 2>&1
}
run() {
    rm -f md.log
    gmx -quiet mdrun -reprod -ntmpi 1 -ntomp 2 -pin off -s topol.tpr -deffnm md > run.log 2>&1
    echo $?
    sed -n '/^ *Energies/,/^$/p' md.log | cksum
}
"$@"
