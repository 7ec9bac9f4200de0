//! Which project's records a caller reads.

use platform::Result;
use platform::auth::{Permission, Required};
use platform::http::Call;
use platform::tenant::check_id;

/// The project that a caller reads; None is the whole account.
///
/// With `account:admin`, or where `reads_account` says so, it is the project that the caller `asked` for, if
/// any. Everyone else reads the project of the token, whatever was asked for.
pub fn project<P: Required>(
    call: &Call<P>,
    asked: Option<&str>,
    reads_account: bool,
) -> Result<Option<String>> {
    if !reads_account && call.principal.require(&[Permission::AccountAdmin]).is_err() {
        return Ok(Some(call.tenant()?.project().to_owned()));
    }
    if let Some(project) = asked {
        check_id("project", project)?;
    }
    Ok(asked.map(str::to_owned))
}
