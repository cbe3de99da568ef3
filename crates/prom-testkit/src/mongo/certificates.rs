//! A certificate authority for tests and a certificate for this machine, as the files that a server reads.

use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};

use crate::tools::ToolError;

/// PEM files.
#[derive(Debug, Clone)]
pub struct Certificates {
    /// The authority that clients and servers trust.
    pub authority: PathBuf,
    /// Certificate and key of the server in one file.
    pub server: PathBuf,
}

impl Certificates {
    pub fn make(folder: &Path) -> Result<Self, ToolError> {
        let (authority_pem, server_pem) = pems().map_err(|error| ToolError::Failed(error.to_string()))?;
        let made = Self { authority: folder.join("authority.pem"), server: folder.join("server.pem") };
        std::fs::write(&made.authority, authority_pem)?;
        std::fs::write(&made.server, server_pem)?;
        Ok(made)
    }
}

fn pems() -> Result<(String, String), rcgen::Error> {
    let authority_key = KeyPair::generate()?;
    let mut authority = CertificateParams::new(Vec::new())?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_certificate = authority.self_signed(&authority_key)?;
    let issuer = rcgen::Issuer::new(authority, authority_key);
    let key = KeyPair::generate()?;
    let mut server = CertificateParams::new(vec!["127.0.0.1".to_owned(), "localhost".to_owned()])?;
    server.distinguished_name.push(rcgen::DnType::CommonName, "mongod of a test");
    let certificate = server.signed_by(&key, &issuer)?;
    Ok((authority_certificate.pem(), certificate.pem() + &key.serialize_pem()))
}
