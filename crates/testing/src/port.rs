//! A port for a server that can neither be given a socket nor tell which port it took.

use std::io::{Error, Result};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A port of 127.0.0.1 that nobody else is given while this exists. It is bound and does not listen: a server that binds it by number with
/// `SO_REUSEADDR`, as nearly all do, may listen there, again and again.
#[derive(Debug)]
pub struct Port {
    number: u16,
    _bound: OwnedFd,
}

impl Port {
    /// Takes one that is free.
    ///
    /// # Errors
    /// If there is none.
    pub fn reserve() -> Result<Port> {
        // SAFETY: a new socket, which belongs to nobody else.
        let bound = unsafe {
            let socket = libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
            if socket < 0 {
                return Err(Error::last_os_error());
            }
            OwnedFd::from_raw_fd(socket)
        };
        let (yes, mut length) = (1_i32, size_of::<libc::sockaddr_in>() as libc::socklen_t);
        let mut address = libc::sockaddr_in {
            sin_family: libc::AF_INET as libc::sa_family_t,
            sin_port: 0,
            sin_addr: libc::in_addr { s_addr: u32::from(Ipv4Addr::LOCALHOST).to_be() },
            sin_zero: [0; 8],
        };
        // SAFETY: the socket is open, and all that is pointed to lives until the calls return and has the size that is said.
        let done = unsafe {
            let socket = bound.as_raw_fd();
            libc::setsockopt(socket, libc::SOL_SOCKET, libc::SO_REUSEADDR, (&raw const yes).cast(), 4) == 0
                && libc::bind(socket, (&raw const address).cast(), length) == 0
                && libc::getsockname(socket, (&raw mut address).cast(), &raw mut length) == 0
        };
        if !done {
            return Err(Error::last_os_error());
        }
        Ok(Port { number: u16::from_be(address.sin_port), _bound: bound })
    }

    /// Its number.
    pub fn number(&self) -> u16 {
        self.number
    }

    /// Listens there in the place of a server.
    ///
    /// # Errors
    /// If the server listens.
    pub fn listen(&self) -> Result<TcpListener> {
        TcpListener::bind((Ipv4Addr::LOCALHOST, self.number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpStream;

    #[test]
    fn a_port_is_kept_for_servers_that_come_and_go() {
        let (port, other) = (Port::reserve().unwrap(), Port::reserve().unwrap());
        assert_ne!(port.number(), other.number());
        for _ in 0..2 {
            let server = port.listen().unwrap();
            let client = TcpStream::connect((Ipv4Addr::LOCALHOST, port.number())).unwrap();
            assert!(port.listen().is_err(), "two servers at once");
            drop((server.accept().unwrap(), client));
        }
        assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, port.number())).is_err());
    }
}
