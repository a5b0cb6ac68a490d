//! What is shown of a source file: the file that is here, or what the profile keeps of it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use csprof_format::ids::ModuleId;
use csprof_format::profile::{self as saved, SourceDoubt, SourceFile};

use super::{Kept, MOST_LINES, Missing, Place, Source, SourceText, Sources, directory};

impl Sources {
    /// The lines of a file by its recorded path: of the file where `--path-map` says it is, where
    /// it was compiled if that is what the profile keeps, below the folders of the user, or else
    /// what the profile keeps. A file that differs where it was compiled is passed over only for
    /// what was kept when the run had ended, without doubt. Of what the profile keeps, the one
    /// version for all these modules, whose costs stand beside it, is shown; of no module, none.
    ///
    /// # Errors
    /// Where it was looked for.
    pub fn show(
        &self,
        profile: &saved::Profile,
        recorded: &str,
        modules: &BTreeSet<ModuleId>,
    ) -> Result<Source, Missing> {
        let directory = directory(profile);
        let kept = match kept(profile, recorded, modules) {
            Ok(Some(kept)) => kept,
            Ok(None) => return self.find(recorded, &directory),
            Err(why) => {
                let why = (PathBuf::from(recorded), why.to_owned());
                return match self.find(recorded, &directory) {
                    Ok(mut source) => {
                        source.tried.push(why);
                        Ok(source)
                    }
                    Err(mut missing) => {
                        missing.tried.push(why);
                        Err(missing)
                    }
                };
            }
        };
        let is_sure = kept.is_of_run && kept.doubt == SourceDoubt::None;
        let is_same =
            |text: &SourceText| text.len() == kept.lines as usize && text.digest() == kept.digest;
        let (mut is_other_here, mut tried) = (false, Vec::new());
        for place in [Place::Map, Place::Recorded, Place::Folder] {
            match self.find_in(&[place], recorded, &directory) {
                Ok(source) if is_same(&source.text) => {
                    return Ok(Source { kept: Kept::Same(kept.doubt), ..source });
                }
                Ok(source) if place != Place::Recorded || !is_sure => {
                    return Ok(Source { kept: Kept::Other, ..source });
                }
                Ok(_) => is_other_here = true,
                Err(_) if place == Place::Recorded => {}
                Err(mut missing) => tried.append(&mut missing.tried),
            }
        }
        Ok(Source {
            path: PathBuf::from(recorded),
            text: SourceText::of_kept(kept),
            modified_ns: None,
            is_by_end: false,
            kept: Kept::Shown { doubt: kept.doubt, is_other_here },
            tried,
        })
    }
}

impl Source {
    /// What is to be said of lines that come from the profile, and not from a file.
    #[must_use]
    pub fn told_of_kept(&self) -> Option<String> {
        let Kept::Shown { is_other_here, .. } = self.kept else { return None };
        let (known, lines) = (self.text.known_lines(), self.text.len());
        let which =
            if known == lines { String::new() } else { format!(", {known} of {lines} lines") };
        let other = if is_other_here { "; the file here is another version" } else { "" };
        Some(format!("kept in the profile{which}{other}"))
    }
}

/// What a profile keeps of a file for all of these modules.
fn kept<'p>(
    profile: &'p saved::Profile,
    recorded: &str,
    modules: &BTreeSet<ModuleId>,
) -> Result<Option<&'p SourceFile>, &'static str> {
    let is_it = |file: &&SourceFile| {
        profile.strings.get(file.path.index()).is_some_and(|path| **path == *recorded)
    };
    let mut versions = profile.sources.iter().filter(is_it).peekable();
    if versions.peek().is_none() {
        return Ok(None);
    }
    if modules.iter().any(|module| may_be_several(profile, *module)) {
        return Err(
            "the profile keeps it, but its module has no build id: in which of the runs it \
                    was that version is not known",
        );
    }
    let is_of = |file: &&SourceFile| file.modules.iter().any(|module| modules.contains(module));
    match &versions.filter(is_of).collect::<Vec<_>>()[..] {
        [only] if only.kept() > MOST_LINES as u64 => {
            Err("the profile keeps more lines of it than are shown of a file")
        }
        [only] if modules.iter().all(|module| only.modules.contains(module)) => Ok(Some(only)),
        [_] => Err("the profile keeps it, but not for all modules that were sampled in it, which \
                    may have another version"),
        [] => Err("the profile keeps it for other modules, which may have another version"),
        _ => Err("the profile keeps several versions of it, and no one is that of all modules \
                  that were sampled in it"),
    }
}

/// Whether a module may stand for several builds: without a build id, modules of several runs are
/// one if they have one path.
fn may_be_several(profile: &saved::Profile, module: ModuleId) -> bool {
    let is_nameless = |module: &saved::Module| module.build_id.is_empty();
    profile.runs.len() > 1
        && profile.modules.get(module.index()).is_none_or(is_nameless)
        && profile.files_of(module).len() != 1
}

#[cfg(test)]
mod tests {
    use std::fs;

    use csprof_format::ids::StringId;
    use csprof_format::source_file::digest;

    use super::*;

    fn of(text: &str, modules: &[u32], doubt: SourceDoubt) -> SourceFile {
        let modules = modules.iter().copied().map(ModuleId).collect();
        let digest = digest(text.as_bytes());
        let mut file = SourceFile { digest, doubt, modules, ..SourceFile::default() };
        for (number, line) in (1..).zip(text.lines()) {
            file.push(number, line);
            file.lines = number;
        }
        file
    }

    #[test]
    fn what_the_user_says_comes_first_then_the_very_file_then_what_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.c");
        let recorded = path.to_str().unwrap();
        let other = folder.path().join("other");
        fs::create_dir(&other).unwrap();
        fs::write(other.join("a.c"), "another\n").unwrap();
        let file = |is_of_run, doubt| SourceFile { is_of_run, ..of("kept\n", &[0], doubt) };
        let keeping = |is_of_run, doubt| saved::Profile {
            strings: vec![recorded.into()],
            sources: vec![file(is_of_run, doubt)],
            ..saved::Profile::default()
        };
        let newer = SourceDoubt::NewerThanModule;
        let (sure, doubted) = (keeping(true, SourceDoubt::None), keeping(true, newer));
        let of = |profile: &saved::Profile, sources: &Sources| {
            let source = sources.show(profile, recorded, &[ModuleId(0)].into()).unwrap();
            (source.text.line(1).unwrap().into_owned(), source.kept)
        };
        let show = |sources: &Sources| of(&sure, sources);
        let shown = |doubt, is_other_here| Kept::Shown { doubt, is_other_here };
        let (none, here) = (SourceDoubt::None, Sources::default());
        assert_eq!(show(&here), ("kept".to_owned(), shown(none, false)));
        fs::write(&path, "changed\n").unwrap();
        assert_eq!(show(&here), ("kept".to_owned(), shown(none, true)));
        // What is doubtful, or was found later, says nothing against the file that is here.
        assert_eq!(of(&doubted, &here), ("changed".to_owned(), Kept::Other));
        let added = keeping(false, none);
        assert_eq!(of(&added, &here), ("changed".to_owned(), Kept::Other));
        fs::write(&path, "kept\n").unwrap();
        assert_eq!(show(&here), ("kept".to_owned(), Kept::Same(none)));
        assert_eq!(of(&doubted, &here), ("kept".to_owned(), Kept::Same(newer)));
        let map = format!("{}={}", folder.path().display(), other.display());
        let mapped = Sources::new(vec![map.parse().unwrap()]);
        assert_eq!(show(&mapped), ("another".to_owned(), Kept::Other));
        fs::remove_file(&path).unwrap();
        assert_eq!(of(&doubted, &here), ("kept".to_owned(), shown(newer, false)));
        assert_eq!(of(&added, &here), ("kept".to_owned(), shown(none, false)));
        let mut asked = Sources::default();
        asked.add_folder(other.to_str().unwrap());
        assert_eq!(show(&asked), ("another".to_owned(), Kept::Other));
        fs::write(&path, "changed\n").unwrap();
        assert_eq!(show(&asked), ("another".to_owned(), Kept::Other));
        fs::write(&path, "kept\n").unwrap();
        assert_eq!(show(&asked), ("kept".to_owned(), Kept::Same(none)));
        fs::remove_file(&path).unwrap();
        // Where it is not, the user is told.
        let empty = folder.path().join("empty");
        let mut asked = Sources::default();
        asked.add_folder(empty.to_str().unwrap());
        assert_eq!(show(&asked), ("kept".to_owned(), shown(none, false)));
        let tried = asked.show(&sure, recorded, &[ModuleId(0)].into()).unwrap().tried;
        assert_eq!(tried, [(empty, "the file is not below it".to_owned())]);
    }

    #[test]
    fn of_several_versions_none_is_guessed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.c");
        let path = path.to_str().unwrap();
        let mut profile = saved::Profile {
            strings: vec![path.into()],
            sources: vec![
                of("one\n", &[0, 2, 4], SourceDoubt::None),
                of("two\n", &[1, 2], SourceDoubt::NewerThanModule),
            ],
            ..saved::Profile::default()
        };
        let show = |profile: &saved::Profile, modules: &[u32]| {
            let modules = modules.iter().copied().map(ModuleId).collect();
            match Sources::default().show(profile, path, &modules) {
                Ok(source) => source.text.line(1).unwrap().into_owned(),
                Err(missing) => missing.tried.last().unwrap().1.clone(),
            }
        };
        assert_eq!(show(&profile, &[0]), "one");
        assert_eq!(show(&profile, &[1]), "two");
        assert_eq!(show(&profile, &[0, 4]), "one");
        assert!(show(&profile, &[2]).contains("several versions"));
        assert!(show(&profile, &[3]).contains("other modules"));
        assert!(show(&profile, &[]).contains("other modules"));
        // Costs of all stand beside one text.
        assert!(show(&profile, &[0, 1]).contains("several versions"));
        assert!(show(&profile, &[0, 3]).contains("not for all modules"));
        // A file that is here is shown, and it is said why it is not what the profile keeps.
        fs::write(path, "here\n").unwrap();
        let found = Sources::default().show(&profile, path, &[ModuleId(2)].into()).unwrap();
        assert_eq!((found.text.line(1).unwrap().as_ref(), found.kept), ("here", Kept::Nothing));
        assert!(found.tried[0].1.contains("several versions"));
        fs::remove_file(path).unwrap();
        // Without a build id, a module of several runs may be several.
        profile.runs = vec![saved::MergedRun::default(), saved::MergedRun::default()];
        assert!(show(&profile, &[0]).contains("no build id"));
        let build_id = vec![1];
        profile.modules = vec![saved::Module { build_id, ..saved::Module::default() }];
        assert_eq!(show(&profile, &[0]), "one");
        profile.runs.clear();
        profile.sources[0].path = StringId(9);
        assert_eq!(show(&profile, &[1]), "two");
        profile.sources[1] = of(&"\n".repeat(MOST_LINES + 1), &[1], SourceDoubt::None);
        assert!(show(&profile, &[1]).contains("more lines"));
    }
}
