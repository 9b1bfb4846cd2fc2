use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::interceptor::InterceptedService;
use tonic::service::Interceptor;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};

use crate::v1::guest_service_client::GuestServiceClient;
use crate::v1::sandbox_service_client::SandboxServiceClient;
use crate::{v1, Error, Sandbox};

/// What every generated client is made of: the channel, and the token on each call.
pub type Service = InterceptedService<Channel, Bearer>;

/// Sends the token, if there is one.
#[derive(Clone, Debug, Default)]
pub struct Bearer(Option<MetadataValue<Ascii>>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(value) = &self.0 {
            request
                .metadata_mut()
                .insert("authorization", value.clone());
        }
        Ok(request)
    }
}

/// One connection, shared by its clones.  Its end ends no sandbox.
#[derive(Clone, Debug)]
pub struct Client {
    service: Service,
}

impl Client {
    /// A client of the engine at `unix:/path/of/grpc.sock` or `http://host:port`, within a
    /// runtime of tokio.  The first call dials.
    pub fn connect(target: &str) -> Result<Self, Error> {
        let wrong = |error| Error::new(Code::InvalidArgument, &format!("{target}: {error}"));
        let endpoint = Endpoint::from_shared(target.to_owned()).map_err(wrong)?;
        Self::over(endpoint.connect_lazy(), None)
    }

    /// A client on a channel of yours, where TLS or a bearer token is wanted.
    pub fn over(channel: Channel, token: Option<&str>) -> Result<Self, Error> {
        let value = token.map(|token| format!("Bearer {token}").parse());
        let value = value.transpose();
        let value = value.map_err(|_| Error::new(Code::InvalidArgument, "token: not ASCII"))?;
        Ok(Self {
            service: InterceptedService::new(channel, Bearer(value)),
        })
    }

    /// For the generated clients that have no method here.
    pub fn service(&self) -> Service {
        self.service.clone()
    }

    /// The generated client of sandboxes.
    pub fn sandboxes(&self) -> SandboxServiceClient<Service> {
        SandboxServiceClient::new(self.service())
    }

    /// The generated client of what runs in them.
    pub fn guests(&self) -> GuestServiceClient<Service> {
        GuestServiceClient::new(self.service())
    }

    /// Makes a sandbox, which is destroyed when it is dropped.
    pub async fn create(&self, request: v1::CreateSandboxRequest) -> Result<Sandbox, Error> {
        let made = self.sandboxes().create_sandbox(request).await?.into_inner();
        Ok(Sandbox::made(
            self.clone(),
            made.sandbox.unwrap_or_default(),
        ))
    }

    /// A handle of a sandbox that exists; it costs no call and destroys nothing.
    pub fn sandbox(&self, id: &str) -> Sandbox {
        Sandbox::existing(self.clone(), id)
    }

    /// What the engine says of a sandbox.
    pub async fn get(&self, id: &str) -> Result<v1::Sandbox, Error> {
        let request = v1::GetSandboxRequest {
            sandbox_id: id.to_owned(),
        };
        let found = self.sandboxes().get_sandbox(request).await?.into_inner();
        Ok(found.sandbox.unwrap_or_default())
    }
}
