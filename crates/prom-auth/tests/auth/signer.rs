//! An issuer: real keys, made for the test, and tokens signed with them. It also signs nonsense if told to, and shares
//! no code with the verifier.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
    RsaPublicKeyComponents,
};
use aws_lc_rs::{hmac, signature};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

pub enum Signer {
    Hs256(Vec<u8>),
    Rs256(RsaKeyPair),
    Es256(EcdsaKeyPair),
    EdDsa(Ed25519KeyPair),
}

impl Signer {
    pub fn hs256(secret: impl AsRef<[u8]>) -> Self {
        Self::Hs256(secret.as_ref().to_vec())
    }

    pub fn rs256() -> Self {
        Self::rsa(KeySize::Rsa2048)
    }

    pub fn rsa(size: KeySize) -> Self {
        Self::Rs256(RsaKeyPair::generate(size).unwrap())
    }

    pub fn es256() -> Self {
        Self::Es256(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap())
    }

    pub fn eddsa() -> Self {
        Self::EdDsa(Ed25519KeyPair::generate().unwrap())
    }

    pub fn algorithm(&self) -> &'static str {
        match self {
            Self::Hs256(_) => "HS256",
            Self::Rs256(_) => "RS256",
            Self::Es256(_) => "ES256",
            Self::EdDsa(_) => "EdDSA",
        }
    }

    /// The public half, as an endpoint publishes it.
    pub fn jwk(&self, kid: &str) -> Value {
        let mut jwk = match self {
            Self::Hs256(secret) => json!({"kty": "oct", "k": encode(secret)}),
            Self::Rs256(pair) => {
                let public: RsaPublicKeyComponents<Vec<u8>> = pair.public_key().into();
                json!({"kty": "RSA", "n": encode(public.n), "e": encode(public.e)})
            }
            Self::Es256(pair) => {
                let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                json!({"kty": "EC", "crv": "P-256", "x": encode(x), "y": encode(y)})
            }
            Self::EdDsa(pair) => json!({"kty": "OKP", "crv": "Ed25519", "x": encode(pair.public_key().as_ref())}),
        };
        let more = json!({"kid": kid, "alg": self.algorithm(), "use": "sig"});
        jwk.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        jwk
    }

    /// A token with the header this key asks for.
    pub fn token(&self, kid: &str, claims: &Value) -> String {
        self.sign(&json!({"typ": "JWT", "alg": self.algorithm(), "kid": kid}), claims)
    }

    /// A token with any header.
    pub fn sign(&self, header: &Value, claims: &Value) -> String {
        let message = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
        format!("{message}.{}", encode(self.signature(message.as_bytes())))
    }

    fn signature(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Hs256(secret) => hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message).as_ref().to_vec(),
            Self::Rs256(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256 as &'static dyn signature::RsaEncoding, &random, message, &mut signature)
                    .unwrap();
                signature
            }
            Self::Es256(pair) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            Self::EdDsa(pair) => pair.sign(message).as_ref().to_vec(),
        }
    }
}

pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
