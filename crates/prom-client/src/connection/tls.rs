//! TLS: the certificates the machine trusts, and those of a file where one is given.

use std::path::Path;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::crypto::aws_lc_rs;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use rustls_platform_verifier::Verifier;
use tokio_rustls::TlsConnector;

use crate::Error;

pub(crate) fn connector(extra_ca: Option<&Path>) -> Result<TlsConnector, Error> {
    let extra = match extra_ca {
        Some(file) => read_certificates(file)?,
        None => Vec::new(),
    };
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier = Verifier::new_with_extra_roots(extra, provider.clone()).map_err(failed)?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(failed)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

fn failed(error: rustls::Error) -> Error {
    Error::Tls { reason: error.to_string() }
}

fn read_certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let refuse = |problem: String| Error::Tls { reason: format!("{}: {problem}", file.display()) };
    let certificates = CertificateDer::pem_file_iter(file).map_err(|error| refuse(error.to_string()))?;
    let certificates: Vec<_> = certificates.collect::<Result<_, _>>().map_err(|error| refuse(error.to_string()))?;
    if certificates.is_empty() { Err(refuse("it holds no PEM certificate".to_owned())) } else { Ok(certificates) }
}
