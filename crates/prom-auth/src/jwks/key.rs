//! One published key, usable for exactly one algorithm. A key whose own fields (`kty`, `crv`, `alg`, `use`, `key_ops`)
//! do not fit is not used, and neither is a symmetric one: anyone who can read it could sign with it.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::DecodingKey;
use serde::Deserialize;
use serde_json::Value;

use crate::limits;
use crate::token::Algorithm;

pub struct PublishedKey {
    pub id: Option<String>,
    pub algorithm: Algorithm,
    pub key: DecodingKey,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    key_ops: Option<Vec<String>>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl PublishedKey {
    /// The reason for leaving out a key is for the operator's log.
    pub fn read(jwk: &Value) -> Result<Self, String> {
        let jwk = Jwk::deserialize(jwk).map_err(|error| error.to_string())?;
        if jwk.usage.as_deref().is_some_and(|usage| usage != "sig") {
            return Err("its `use` is not sig".to_owned());
        }
        if jwk.key_ops.as_ref().is_some_and(|ops| !ops.iter().any(|op| op == "verify")) {
            return Err("its `key_ops` lack verify".to_owned());
        }
        let (algorithm, key) = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
            ("RSA", _) => (Algorithm::Rs256, rsa(&jwk)?),
            ("EC", Some("P-256")) => (Algorithm::Es256, p256(&jwk)?),
            ("OKP", Some("Ed25519")) => (Algorithm::EdDsa, ed25519(&jwk)?),
            (kty, crv) => return Err(format!("kty {kty:?} with crv {crv:?} is not supported")),
        };
        match jwk.alg {
            Some(alg) if alg != algorithm.as_str() => Err(format!("its alg {alg:?} is not {algorithm}")),
            _ => Ok(Self { id: jwk.kid, algorithm, key }),
        }
    }
}

fn rsa(jwk: &Jwk) -> Result<DecodingKey, String> {
    let (modulus, exponent) = (bytes("n", &jwk.n)?, bytes("e", &jwk.e)?);
    let significant = modulus.iter().skip_while(|byte| **byte == 0).count();
    if !(limits::RSA_MODULUS_BYTES_LEAST..=limits::RSA_MODULUS_BYTES_MOST).contains(&significant) {
        return Err(format!("its modulus has {} bits; 2048 to 8192 are supported", significant * 8));
    }
    Ok(DecodingKey::from_rsa_raw_components(&modulus, &exponent))
}

fn p256(jwk: &Jwk) -> Result<DecodingKey, String> {
    let (x, y) = (coordinate("x", &jwk.x)?, coordinate("y", &jwk.y)?);
    let uncompressed = [&[4], x.as_slice(), y.as_slice()].concat();
    Ok(DecodingKey::from_ec_der(&uncompressed))
}

fn ed25519(jwk: &Jwk) -> Result<DecodingKey, String> {
    Ok(DecodingKey::from_ed_der(&coordinate("x", &jwk.x)?))
}

fn coordinate(name: &str, encoded: &Option<String>) -> Result<Vec<u8>, String> {
    let coordinate = bytes(name, encoded)?;
    match coordinate.len() {
        32 => Ok(coordinate),
        other => Err(format!("its `{name}` has {other} bytes instead of 32")),
    }
}

fn bytes(name: &str, encoded: &Option<String>) -> Result<Vec<u8>, String> {
    let encoded = encoded.as_ref().ok_or_else(|| format!("it has no `{name}`"))?;
    URL_SAFE_NO_PAD.decode(encoded).map_err(|_| format!("its `{name}` is not base64url"))
}
