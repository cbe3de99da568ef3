//! Issuers of tokens: real keys made for the test, whatever claims it likes, and an endpoint that publishes the keys.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
    RsaPublicKeyComponents,
};
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use tokio::net::TcpListener;

pub enum Key {
    Secret(Vec<u8>),
    Rsa(RsaKeyPair),
    P256(EcdsaKeyPair),
    Edwards(Ed25519KeyPair),
}

impl Key {
    pub fn secret(secret: impl AsRef<[u8]>) -> Self {
        Self::Secret(secret.as_ref().to_vec())
    }

    pub fn rsa() -> Self {
        Self::Rsa(RsaKeyPair::generate(KeySize::Rsa2048).unwrap())
    }

    pub fn p256() -> Self {
        Self::P256(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap())
    }

    pub fn edwards() -> Self {
        Self::Edwards(Ed25519KeyPair::generate().unwrap())
    }

    pub fn algorithm(&self) -> &'static str {
        match self {
            Self::Secret(_) => "HS256",
            Self::Rsa(_) => "RS256",
            Self::P256(_) => "ES256",
            Self::Edwards(_) => "EdDSA",
        }
    }

    /// What everybody may know of it.
    pub fn public_bytes(&self) -> Vec<u8> {
        match self {
            Self::Secret(_) => Vec::new(),
            Self::Rsa(pair) => pair.public_key().as_ref().to_vec(),
            Self::P256(pair) => pair.public_key().as_ref().to_vec(),
            Self::Edwards(pair) => pair.public_key().as_ref().to_vec(),
        }
    }

    /// The public half as an endpoint publishes it.
    pub fn published(&self, kid: &str) -> Value {
        let (alg, kid) = (self.algorithm(), kid.to_owned());
        match self {
            Self::Secret(secret) => json!({"kty": "oct", "k": encode(secret), "alg": alg, "kid": kid}),
            Self::Rsa(pair) => {
                let public: RsaPublicKeyComponents<Vec<u8>> = pair.public_key().into();
                json!({"kty": "RSA", "n": encode(public.n), "e": encode(public.e), "alg": alg, "kid": kid})
            }
            Self::P256(pair) => {
                let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                json!({"kty": "EC", "crv": "P-256", "x": encode(x), "y": encode(y), "alg": alg, "kid": kid})
            }
            Self::Edwards(_) => {
                json!({"kty": "OKP", "crv": "Ed25519", "x": encode(self.public_bytes()), "alg": alg, "kid": kid})
            }
        }
    }

    /// A token as this key should make it.
    pub fn token(&self, kid: &str, claims: &Value) -> String {
        self.sign(&json!({"typ": "JWT", "alg": self.algorithm(), "kid": kid}), claims)
    }

    /// A token with any header at all.
    pub fn sign(&self, header: &Value, claims: &Value) -> String {
        let message = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
        let signature = self.signature(message.as_bytes());
        format!("{message}.{}", encode(signature))
    }

    fn signature(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Secret(secret) => hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message).as_ref().to_vec(),
            Self::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).unwrap();
                signature
            }
            Self::P256(pair) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            Self::Edwards(pair) => pair.sign(message).as_ref().to_vec(),
        }
    }
}

pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Where keys are published, or nothing at all.
pub struct Endpoint {
    address: SocketAddr,
    keys: Arc<Mutex<Option<Vec<Value>>>>,
}

impl Endpoint {
    pub async fn publishing(keys: Vec<Value>) -> Self {
        let keys = Arc::new(Mutex::new(Some(keys)));
        let router = Router::new().route("/keys", get(serve)).with_state(keys.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, keys }
    }

    pub fn url(&self) -> String {
        format!("http://{}/keys", self.address)
    }

    /// `None`: it is down.
    pub fn publish(&self, keys: Option<Vec<Value>>) {
        *self.keys.lock().unwrap() = keys;
    }
}

async fn serve(State(keys): State<Arc<Mutex<Option<Vec<Value>>>>>) -> Result<String, StatusCode> {
    let keys = keys.lock().unwrap().clone().ok_or(StatusCode::SERVICE_UNAVAILABLE)?;
    Ok(json!({"keys": keys}).to_string())
}
