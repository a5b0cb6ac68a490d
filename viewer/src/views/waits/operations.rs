//! Which functions are calls of MPI, by the names that its standard gives them, and which of these
//! wait for every rank.

use crate::profile::ShownName;

/// What a call of MPI is called in the standard, in small letters and without `MPI_`: `allreduce`
/// for `PMPI_Allreduce` of C and for `mpi_allreduce_` of Fortran. `None` of other functions.
fn operation(name: &str) -> Option<String> {
    let name = ShownName::of(name).first;
    let of_c = name.strip_prefix('P').unwrap_or(name).strip_prefix("MPI_");
    if let Some(rest) = of_c.filter(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase())) {
        return Some(rest.to_ascii_lowercase());
    }
    // A function of a program's own may be called mpi_exchange: compilers of Fortran add a bar.
    let of_fortran = name.strip_prefix('p').unwrap_or(name).strip_prefix("mpi_")?;
    let rest = of_fortran.trim_end_matches('_');
    let rest = rest.strip_suffix("_f08").unwrap_or(rest);
    let is_name = of_fortran.ends_with('_')
        && !rest.is_empty()
        && rest
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    is_name.then(|| rest.to_owned())
}

/// Whether a function is a call of MPI.
pub(super) fn is_mpi(name: &str) -> bool {
    operation(name).is_some()
}

/// Whether no rank leaves this call of MPI before every rank has come to it: then who waited least
/// came last. Of a broadcast, say, the root need not wait for anybody.
pub(super) fn is_for_all(name: &str) -> bool {
    const FOR_ALL: [&str; 9] = [
        "barrier",
        "allreduce",
        "allgather",
        "allgatherv",
        "alltoall",
        "alltoallv",
        "alltoallw",
        "reduce_scatter",
        "reduce_scatter_block",
    ];
    operation(name).is_some_and(|operation| FOR_ALL.contains(&&*operation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_mpi_by_name() {
        for (name, mpi, all) in [
            ("MPI_Barrier", true, true),
            ("PMPI_Allreduce", true, true),
            ("MPI_Barrier [also PMPI_Barrier]", true, true),
            ("PMPI_Barrier [also MPI_Barrier] [clone PMPI_Barrier.cold]", true, true),
            ("MPI_Bcast [also MPI_Barrier]", true, false),
            ("copy [also MPI_Barrier]", false, false),
            ("mpi_allreduce_", true, true),
            ("pmpi_reduce_scatter_block__", true, true),
            ("mpi_barrier_f08_", true, true),
            ("MPI_Bcast", true, false),
            ("MPI_Ibarrier", true, false),
            ("MPI_Waitall", true, false),
            ("mpi_exchange", false, false),
            ("mpi_Exchange_", false, false),
            ("MPI_", false, false),
            ("MPIR_Barrier", false, false),
            ("PMIx_Fence", false, false),
            ("main", false, false),
        ] {
            assert_eq!((is_mpi(name), is_for_all(name)), (mpi, all), "{name}");
        }
    }
}
