//! One file a package: messages by prost, clients by tonic.

use std::error::Error;
use std::io::{self, Read, Write};

use prost::Message;
use prost_build::{Config, Module};
use prost_types::compiler::code_generator_response::{Feature, File};
use prost_types::compiler::{CodeGeneratorRequest, CodeGeneratorResponse};
use prost_types::FileDescriptorProto;

fn main() -> Result<(), Box<dyn Error>> {
    let mut sent = Vec::new();
    io::stdin().read_to_end(&mut sent)?;
    let response = generate(CodeGeneratorRequest::decode(&*sent)?)?;
    io::stdout().write_all(&response.encode_to_vec())?;
    Ok(())
}

fn generate(request: CodeGeneratorRequest) -> Result<CodeGeneratorResponse, Box<dyn Error>> {
    let clients = tonic_prost_build::configure()
        .build_server(false)
        .build_transport(false)
        .service_generator();
    let asked = request.file_to_generate;
    let wanted: Vec<Module> = request
        .proto_file
        .iter()
        .filter(|file| asked.iter().any(|name| name == file.name()))
        .map(module)
        .collect();
    // What is imported is needed too: whether a message can be compared depends on it.
    let files = request
        .proto_file
        .into_iter()
        .map(|file| (module(&file), file))
        .collect();
    let written = Config::new().service_generator(clients).generate(files)?;
    let mut file: Vec<File> = written
        .into_iter()
        .filter(|(module, _)| wanted.contains(module))
        .map(|(module, content)| File {
            name: Some(module.to_file_name_or("root")),
            content: Some(content),
            ..File::default()
        })
        .collect();
    file.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(CodeGeneratorResponse {
        supported_features: Some(Feature::Proto3Optional as u64),
        file,
        ..CodeGeneratorResponse::default()
    })
}

fn module(file: &FileDescriptorProto) -> Module {
    Module::from_protobuf_package_name(file.package())
}
