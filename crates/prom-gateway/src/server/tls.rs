//! TLS from certificate files.

use std::path::Path;
use std::sync::Arc;

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;

use super::{ServeError, Tls};

/// Reads both files; says which one is wrong and why.
pub fn acceptor(tls: &Tls) -> Result<TlsAcceptor, ServeError> {
    let certificates = certificates(&tls.cert)?;
    let key = PrivateKeyDer::from_pem_file(&tls.key).map_err(|error| wrong(&tls.key, error))?;
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(&tls.cert, error))?
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .map_err(|error| wrong(&tls.cert, error))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ServeError> {
    let certificates: Vec<_> =
        CertificateDer::pem_file_iter(path).and_then(Iterator::collect).map_err(|error| wrong(path, error))?;
    if certificates.is_empty() { Err(wrong(path, "it holds no certificate in PEM form")) } else { Ok(certificates) }
}

fn wrong(path: &Path, reason: impl ToString) -> ServeError {
    ServeError::Tls { path: path.to_owned(), reason: reason.to_string() }
}
