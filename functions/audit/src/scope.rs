//! Decides which project's records a caller may read.

use platform::Result;
use platform::auth::{Permission, Required};
use platform::http::Call;
use platform::tenant::check_id;

/// Returns the project that a caller reads; None means the whole account.
///
/// With `account:admin`, or where `reads_account` is true, this is the project that the caller `asked` for,
/// if any. Every other caller reads the project of its token.
pub fn project<P: Required>(
    call: &Call<P>,
    requested: Option<&str>,
    reads_account: bool,
) -> Result<Option<String>> {
    if !reads_account && call.principal.require(&[Permission::AccountAdmin]).is_err() {
        return Ok(Some(call.tenant()?.project().to_owned()));
    }
    if let Some(project) = requested {
        check_id("project", project)?;
    }
    Ok(requested.map(str::to_owned))
}
