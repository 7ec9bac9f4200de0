//! Limits the files of a child by Landlock.

use std::io;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
    RulesetCreated, RulesetCreatedAttr as _, RulesetError, Scope, make_bitflags, path_beneath_rules,
};

use super::Folders;

/// The newest version that was tested. An older kernel limits what it knows.
const NEWEST: ABI = ABI::V7;

/// Returns whether this kernel has Landlock.
pub(super) fn exists() -> bool {
    let required = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let ruleset = required.handle_access(AccessFs::from_all(ABI::V1));
    ruleset.and_then(Ruleset::create).is_ok()
}

/// Every access is refused from now on, but those to the files of `folders`, and so are ports and signals to
/// other processes.
pub(super) fn enclose(folders: &Folders) -> io::Result<()> {
    // Otherwise only root may give up files. The filter of calls does it too, and refuses this call
    // afterwards.
    let _ = rustix::thread::set_no_new_privs(true);
    let restricted = ruleset(folders).and_then(RulesetCreated::restrict_self);
    restricted.map(drop).map_err(io::Error::other)
}

fn ruleset(folders: &Folders) -> Result<RulesetCreated, RulesetError> {
    let read = make_bitflags!(AccessFs::{ReadFile});
    let write: BitFlags<AccessFs> = make_bitflags!(AccessFs::{
        ReadFile | ReadDir | WriteFile | Truncate | MakeReg | MakeDir | RemoveFile | RemoveDir
    });
    Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?
        // See `enclose`.
        .no_new_privs(false)
        .add_rules(path_beneath_rules(&folders.read, read))?
        .add_rules(path_beneath_rules(&folders.write, write))
}
