//! Where the token for AUTH comes from.

use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;

use crate::Error;

type Provider = Arc<dyn Fn() -> BoxFuture<'static, Result<String, String>> + Send + Sync>;

/// None for hubs without auth.
#[derive(Clone, Default)]
pub(crate) enum TokenSource {
    #[default]
    None,
    Fixed(String),
    /// Asked at every connect and before the last one expires.
    Provider(Provider),
}

impl TokenSource {
    pub fn provider<P, F, E>(provide: P) -> Self
    where
        P: Fn() -> F + Send + Sync + 'static,
        F: Future<Output = Result<String, E>> + Send + 'static,
        E: Display,
    {
        Self::Provider(Arc::new(move || {
            let provided = provide();
            async move { provided.await.map_err(|error| error.to_string()) }.boxed()
        }))
    }

    pub fn can_refresh(&self) -> bool {
        matches!(self, Self::Provider(_))
    }

    /// A token that is fresh as far as we can tell.
    pub fn fetch(&self) -> BoxFuture<'static, Result<Option<String>, Error>> {
        match self {
            Self::None => std::future::ready(Ok(None)).boxed(),
            Self::Fixed(token) => std::future::ready(Ok(Some(token.clone()))).boxed(),
            Self::Provider(provide) => {
                provide().map(|provided| provided.map(Some).map_err(|reason| Error::Token { reason })).boxed()
            }
        }
    }
}

impl std::fmt::Debug for TokenSource {
    /// Never shows a token.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Fixed(_) => "fixed",
            Self::Provider(_) => "provider",
        })
    }
}
